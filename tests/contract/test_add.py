"""Contract, section 5: POST /subscriptions."""

import uuid

import pytest
from asking import delete, entries, get, patch, post, status, told
from names import G1, G2, G3, A, B, C, D, derived


# C1.5, C1.21, C3.4, C5.7
def test_add_of_a_valid_item_is_a_success_with_exactly_four_fields(add):
    item = add(A)
    assert set(item) == {"feed_url", "guid", "is_subscribed", "subscription_changed"}
    assert (item["feed_url"], item["guid"], item["is_subscribed"]) == (A, derived(A), True)
    assert add((A, None))["guid"] == derived(A)
    assert add("https://podnews.net/rss")["guid"] == "9b024349-ccf0-5f69-a609-6b82873eab3c"
    stamps = [item["subscription_changed"], *(add(A)["subscription_changed"] for _ in range(2))]
    assert stamps == sorted(set(stamps))  # also what is subscribed already is stamped


# C1.5, C3.5, C5.1, C5.3
def test_add_of_an_invalid_item_is_a_failure_with_exactly_two_fields(add):
    for url in ("a.example/feed", " ftp://a.example ", "\ufeffmailto:a@b.example\u00a0"):
        body = add(url)
        (failure,) = body["failure"]
        assert (body["success"], set(failure)) == ([], {"feed_url", "message"})
        assert failure["feed_url"] == url  # exactly as it was sent
        assert failure["message"].startswith("No protocol" if url[0] == "a" else "Unsupported")
    for guid in ("", "x", "9b024349ccf05f69a6096b82873eab3c", f"{{{G1}}}"):
        body = add((A, guid))
        assert (body["success"], body["failure"][0]["feed_url"]) == ([], A)
        assert body["failure"][0]["message"].startswith("Not a guid")


# C3.5, C5.7
def test_a_guid_that_is_sent_is_the_guid_of_the_subscription_in_lower_case(api, add):
    guid = str(uuid.uuid4())
    assert add((A, guid.upper()))["guid"] == guid
    assert get(api, guid)["feed_url"] == A


# C5.1
def test_items_of_both_kinds_are_each_in_request_order(api, add):
    body = add("x", C, "ftp://a.example", A, (B, "no guid"), B)
    assert [item["feed_url"] for item in body["success"]] == [C, A, B]
    assert [item["feed_url"] for item in body["failure"]] == ["x", "ftp://a.example", B]
    assert len(told(post(api, ""))["failure"]) == 1
    assert told(post(api)) == {"success": [], "failure": []}


# C3.2
def test_the_url_is_kept_as_it_was_sent_but_for_the_white_space_around_it(api, add):
    url = "HTTPS://User:Pw@A.Example:443/Feed/?Q=%41#top"
    item = add(f" \t\ufeff\u3000{url}\u2003\n")
    assert item["feed_url"] == url
    assert get(api, item["guid"])["feed_url"] == url


# C3.4
def test_http_and_https_and_a_trailing_slash_never_make_a_second_subscription(api, add):
    body = add("http://a.example/feed", "https://A.example/feed/", "https://a.example:443/feed#x")
    assert len({item["guid"] for item in body["success"]}) == 1
    assert len(entries(api)) == 1
    assert get(api, derived(A))["feed_url"] == "http://a.example/feed"


# C5.8
def test_a_known_feed_is_subscribed_from_now_on_and_its_url_stays(api, add):
    first = add(A)
    patch(api, first["guid"], is_subscribed=False)
    second = add("http://a.example/feed/")
    assert second["is_subscribed"] is True
    assert second["subscription_changed"] > first["subscription_changed"]
    shown = get(api, first["guid"])
    assert (shown["feed_url"], shown["is_subscribed"]) == (A, True)
    assert shown["subscription_changed"] == second["subscription_changed"]


# C3.8, C5.6, C5.9
def test_a_deleted_subscription_is_revived_by_its_url_its_guid_and_a_pointer(api, add):
    add((A, G1))
    delete(api, G1)
    assert status(api, G1) == 410
    assert add("http://a.example/feed")["guid"] == G1
    shown = get(api, G1)
    assert (shown["feed_url"], shown["is_subscribed"]) == ("http://a.example/feed", True)
    assert "deleted" not in shown
    delete(api, G1)
    assert add((B, G1))["guid"] == G1
    assert get(api, G1)["feed_url"] == B
    assert get(api, derived(A))["new_guid"] == G1
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    assert add((C, G1))["guid"] == G2
    add(D)
    patch(api, derived(D), new_feed_url="https://e.example")
    delete(api, derived(D))
    assert add(D)["guid"] == derived(D)  # by a former URL, whose guid is the present one
    assert get(api, derived(D))["feed_url"] == D


# C3.7, C5.5, C5.6
def test_a_former_url_leads_to_a_live_subscription_and_not_to_a_deleted_one(api, add):
    add((A, G1), (C, G2))
    for guid, url in ((G1, B), (G2, D)):
        patch(api, guid, new_feed_url=url)
    item = add(A)
    assert (item["guid"], item["feed_url"]) == (G1, A)
    assert get(api, G1)["feed_url"] == B
    delete(api, G1)
    assert add(A)["guid"] == derived(A)
    assert [status(api, guid) for guid in (G1, derived(B))] == [410, 410]
    delete(api, G2)
    assert add((C, derived(A)))["guid"] == derived(A)
    assert get(api, derived(C))["new_guid"] == derived(A)
    assert status(api, G2) == 410


# C4.5, C5.10
def test_a_guid_unknown_to_the_account_renames_the_subscription_of_the_url(api, add):
    old = add(A)["guid"]
    assert add((A, G1))["guid"] == G1
    renamed = get(api, G1)
    assert renamed["guid_changed"] == renamed["subscription_changed"]
    pointer = get(api, old)
    assert (pointer["guid"], pointer["new_guid"]) == (old, G1)
    assert pointer["guid_changed"] < renamed["guid_changed"]
    add(B)
    delete(api, derived(B))
    assert add((B, G2))["guid"] == G2
    assert get(api, G2)["is_subscribed"] is True
    assert get(api, derived(B))["new_guid"] == G2


# C5.5, C5.11
def test_a_known_guid_absorbs_the_subscription_of_the_url(api, add):
    add((A, G1), (B, G2))
    assert add((B, G1))["guid"] == G1
    assert get(api, G1)["feed_url"] == A
    assert get(api, G2)["new_guid"] == G1
    assert "guid_changed" in get(api, G2)
    assert get(api, derived(B))["new_guid"] == G1
    assert add((C, G1))["guid"] == G1
    pointer = get(api, derived(C))
    assert (pointer["new_guid"], pointer["feed_url"]) == (G1, A)
    assert "guid_changed" not in pointer
    assert add(C)["guid"] == G1


# C5.12
def test_a_pointer_sent_as_guid_renames_nothing(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    before = get(api, G2)["guid_changed"]
    assert add((A, G1))["guid"] == G2
    assert get(api, G2)["guid_changed"] == before


# C5.2, C5.13
def test_each_item_sees_those_before_it_and_shows_the_end_of_the_request(api, add):
    add(A, (C, G3))
    body = add(A, (A, G1), (B, G2), (B, None), (C, G2.upper()), (C, G3))
    assert [item["guid"] for item in body["success"]] == [G1, G1, G2, G2, G3, G3]
    stamps = [item["subscription_changed"] for item in body["success"]]
    assert stamps == [get(api, item["guid"])["subscription_changed"] for item in body["success"]]
    assert stamps[0] == stamps[1] < stamps[2] == stamps[3] < stamps[4] == stamps[5]
    body = add(A, A)
    assert body["success"][0] == body["success"][1]
    assert len([entry for entry in entries(api) if "new_guid" not in entry]) == 3


# C5.29
def test_two_feeds_with_a_copied_guid_are_both_on_the_list(api, add):
    body = add((A, G1), (B, G1))
    found = [(item["feed_url"], item["guid"]) for item in body["success"]]
    assert found == [(A, G1), (B, derived(B))]
    assert all("new_feed_url" not in item for item in body["success"])
    assert {entry["feed_url"] for entry in entries(api)} == {A, B}


# C5.30
@pytest.mark.parametrize("sent", [(B, G1), (B, G2), A, ("http://a.example/feed/", G2)])
def test_a_success_item_shows_the_url_of_the_subscription_if_it_differs(api, add, sent):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    url = sent if isinstance(sent, str) else sent[0]
    item = add(sent)
    assert (item["feed_url"], item["guid"]) == (url, G2)
    assert item.get("new_feed_url", url) == A
    assert ("new_feed_url" in item) is (url != A)


# C5.4
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{}", "Object missing required field subscriptions"),
        ("[]", "Expected object, got array"),
        ('"x"', "Expected object, got str"),
        ("null", "Expected object, got null"),
        ('{"subscriptions": null}', "Expected array, got null at $.subscriptions"),
        ('{"subscriptions": {}}', "Expected array, got object at $.subscriptions"),
        ("1", "Expected object, got int at $.subscriptions[1]"),
        ("{}", "missing required field feed_url at $.subscriptions[1]"),
        ('{"feed_url": 5}', "Expected str, got int at $.subscriptions[1].feed_url"),
        ('{"feed_url": null}', "Expected str, got null at $.subscriptions[1].feed_url"),
        (
            '{"feed_url": "https://b.example", "guid": 5}',
            "Expected str | null, got int at $.subscriptions[1].guid",
        ),
    ],
)
def test_a_request_of_another_shape_is_405_and_nothing_is_stored(api, body, reason):
    if "[1]" in reason:  # a valid item before it
        body = f'{{"subscriptions": [{{"feed_url": "{A}"}}, {body}]}}'
    message = told(api.post("/subscriptions", content=body), 405)["message"]
    assert message.startswith("The input could not be validated. ")
    assert reason in message
    assert entries(api) == []


# C1.5, C1.10
def test_unnamed_fields_are_ignored_and_ten_thousand_items_fit_in_a_request(api):
    body = {"subscriptions": [{"feed_url": A, "title": {"x": [None]}}], "device": 5}
    assert len(told(api.post("/subscriptions", json=body))["success"]) == 1
    assert len(told(post(api, *[A] * 10_000))["success"]) == 10_000
    message = told(post(api, *[A] * 10_001), 405)["message"]
    assert "At most 10,000 subscriptions" in message
