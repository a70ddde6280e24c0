"""Contract, section 5: POST /subscriptions."""

import re
import uuid

import pytest
from names import G1, G2, G3, A, B, C, delete, derived, entries, get, patch, status


# C1.5
def test_an_accepted_item_is_listed_under_success_with_exactly_four_fields(add):
    item = add(A)
    assert set(item) == {"feed_url", "guid", "is_subscribed", "subscription_changed"}
    assert item["feed_url"] == A
    assert item["is_subscribed"] is True


# C1.5, C5.3
def test_a_refused_item_is_listed_under_failure_with_exactly_two_fields(add):
    body = add("a.example/feed")
    assert body["success"] == []
    assert set(body["failure"][0]) == {"feed_url", "message"}
    assert body["failure"][0]["feed_url"] == "a.example/feed"
    assert body["failure"][0]["message"].startswith("No protocol present")


# C1.21, C3.4, C5.7
def test_an_item_without_a_guid_gets_the_derived_one(add):
    assert add("https://podnews.net/rss")["guid"] == "9b024349-ccf0-5f69-a609-6b82873eab3c"
    assert add((A, None))["guid"] == derived(A)


# C3.5, C5.7
def test_a_guid_that_is_sent_is_the_guid_of_the_subscription_in_lower_case(api, add):
    guid = str(uuid.uuid4())
    assert add((A, guid.upper()))["guid"] == guid
    assert get(api, guid)["feed_url"] == A


def test_items_of_both_kinds_are_each_in_request_order(add):
    body = add("x", C, "ftp://a.example", A, (B, "no guid"), B)
    assert [item["feed_url"] for item in body["success"]] == [C, A, B]
    assert [item["feed_url"] for item in body["failure"]] == ["x", "ftp://a.example", B]


# C5.1
def test_a_request_whose_items_all_fail_is_200(api):
    reply = api.post("/subscriptions", json={"subscriptions": [{"feed_url": ""}]})
    assert reply.status_code == 200
    assert len(reply.json()["failure"]) == 1


def test_a_request_without_items_is_200_with_two_empty_lists(api):
    reply = api.post("/subscriptions", json={"subscriptions": []})
    assert (reply.status_code, reply.json()) == (200, {"success": [], "failure": []})


# C3.2
def test_the_url_is_kept_as_it_was_sent_but_for_the_white_space_around_it(api, add):
    url = "HTTPS://User:Pw@A.Example:443/Feed/?Q=%41#top"
    item = add(f" \t\ufeff\u3000{url}\u2003\n")
    assert item["feed_url"] == url
    assert get(api, item["guid"])["feed_url"] == url


def test_a_failure_shows_the_url_exactly_as_it_was_sent(add):
    for url in (" ftp://a.example ", "\ufeffmailto:a@b.example\u00a0"):
        assert add(url)["failure"][0]["feed_url"] == url


# C3.5, C5.3
@pytest.mark.parametrize("guid", ["", "x", "9b024349ccf05f69a6096b82873eab3c", f"{{{G1}}}"])
def test_a_guid_text_that_is_none_is_a_failure(add, guid):
    body = add((A, guid))
    assert body["success"] == []
    assert body["failure"][0]["feed_url"] == A
    assert body["failure"][0]["message"].startswith("Not a guid")


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


def test_adding_what_is_subscribed_already_is_stamped_too(add):
    assert add(A)["subscription_changed"] < add(A)["subscription_changed"]


# C5.6, C5.9
def test_a_deleted_subscription_is_revived_by_its_present_url(api, add):
    guid = add((A, G1))["guid"]
    delete(api, guid)
    assert status(api, guid) == 410
    assert add("http://a.example/feed")["guid"] == G1
    shown = get(api, G1)
    assert (shown["feed_url"], shown["is_subscribed"]) == ("http://a.example/feed", True)
    assert "deleted" not in shown


# C5.6, C5.9
def test_a_deleted_subscription_is_revived_by_its_guid_with_the_url_that_is_sent(api, add):
    add((A, G1))
    delete(api, G1)
    assert add((B, G1))["guid"] == G1
    assert get(api, G1)["feed_url"] == B
    assert get(api, derived(A))["new_guid"] == G1


# C3.8, C5.6
def test_a_deleted_subscription_is_revived_by_a_pointer_sent_as_guid(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    assert add((B, G1))["guid"] == G2


def test_a_deleted_subscription_is_revived_by_a_url_whose_guid_is_its_present_one(api, add):
    add(A)
    patch(api, derived(A), new_feed_url=B)
    delete(api, derived(A))
    assert add(A)["guid"] == derived(A)
    assert get(api, derived(A))["feed_url"] == A


# C5.6
def test_a_former_url_of_a_deleted_subscription_makes_a_new_one_with_its_derived_guid(api, add):
    add((A, G1))
    patch(api, G1, new_feed_url=B)
    delete(api, G1)
    assert add(A)["guid"] == derived(A)
    assert status(api, G1) == 410
    assert status(api, derived(B)) == 410


# C3.7, C5.5
def test_a_former_url_of_a_live_subscription_leads_to_it(api, add):
    add((A, G1))
    patch(api, G1, new_feed_url=B)
    item = add(A)
    assert (item["guid"], item["feed_url"]) == (G1, A)
    assert get(api, G1)["feed_url"] == B


# C4.5, C5.10
def test_a_guid_unknown_to_the_account_renames_the_subscription_of_the_url(api, add):
    old = add(A)["guid"]
    item = add((A, G1))
    assert item["guid"] == G1
    renamed = get(api, G1)
    assert renamed["guid_changed"] == renamed["subscription_changed"]
    pointer = get(api, old)
    assert (pointer["guid"], pointer["new_guid"]) == (old, G1)
    assert pointer["guid_changed"] < renamed["guid_changed"]


def test_a_guid_unknown_to_the_account_renames_and_revives_a_deleted_subscription(api, add):
    add(A)
    delete(api, derived(A))
    assert add((A, G1))["guid"] == G1
    assert get(api, G1)["is_subscribed"] is True
    assert get(api, derived(A))["new_guid"] == G1


# C5.5, C5.11
def test_a_known_guid_absorbs_the_subscription_of_the_url(api, add):
    add((A, G1), (B, G2))
    item = add((B, G1))
    assert item["guid"] == G1
    assert get(api, G1)["feed_url"] == A
    assert get(api, G2)["new_guid"] == G1
    assert "guid_changed" in get(api, G2)
    assert get(api, derived(B))["new_guid"] == G1


# C5.12
def test_a_pointer_sent_as_guid_renames_nothing(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    before = get(api, G2)["guid_changed"]
    assert add((A, G1))["guid"] == G2
    assert get(api, G2)["guid_changed"] == before


def test_afterwards_the_derived_guid_of_the_url_leads_to_the_subscription(api, add):
    add((A, G1))
    add((B, G1))
    pointer = get(api, derived(B))
    assert (pointer["new_guid"], pointer["feed_url"]) == (G1, A)
    assert "guid_changed" not in pointer
    assert add(B)["guid"] == G1


def test_a_former_url_of_a_deleted_one_is_led_to_the_subscription_of_the_guid_sent(api, add):
    add((A, G1), (C, G2))
    patch(api, G1, new_feed_url=B)
    delete(api, G1)
    assert add((A, G2))["guid"] == G2
    assert get(api, derived(A))["new_guid"] == G2
    assert status(api, G1) == 410


# C5.2, C5.13
def test_each_item_sees_those_before_it_and_shows_the_end_of_the_request(api, add):
    add(A, (C, G3))
    body = add(A, (A, G1), (B, G2), (B, None), (C, G2.upper()), (C, G3))
    assert [item["guid"] for item in body["success"]] == [G1, G1, G2, G2, G3, G3]
    stamps = [item["subscription_changed"] for item in body["success"]]
    assert stamps == [get(api, item["guid"])["subscription_changed"] for item in body["success"]]
    assert stamps[0] == stamps[1] < stamps[2] == stamps[3] < stamps[4] == stamps[5]


# C5.29
def test_two_feeds_with_a_copied_guid_are_both_on_the_list(api, add):
    body = add((A, G1), (B, G1))
    assert [(item["feed_url"], item["guid"]) for item in body["success"]] == [
        (A, G1), (B, derived(B)),
    ]  # fmt: skip
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


def test_one_feed_twice_in_a_request_is_one_subscription(api, add):
    body = add(A, A)
    assert body["success"][0] == body["success"][1]
    assert len(entries(api)) == 1


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
        ('{"subscriptions": [1]}', "Expected object, got int at $.subscriptions[0]"),
        ('{"subscriptions": [{}]}', "missing required field feed_url at $.subscriptions[0]"),
        (
            '{"subscriptions": [{"feed_url": 5}]}',
            "Expected str, got int at $.subscriptions[0].feed_url",
        ),
        (
            '{"subscriptions": [{"feed_url": null}]}',
            "Expected str, got null at $.subscriptions[0].feed_url",
        ),
        (
            '{"subscriptions": [{"feed_url": "https://b.example", "guid": 5}]}',
            "Expected str | null, got int at $.subscriptions[0].guid",
        ),
    ],
)
def test_a_request_of_another_shape_is_405_and_nothing_is_stored(api, body, reason):
    if body.startswith('{"subscriptions": ['):
        body = body.replace("[", f'[{{"feed_url": "{A}"}}, ', 1).replace("[0]", "[1]")
        reason = reason.replace("[0]", "[1]")
    reply = api.post("/subscriptions", content=body)
    assert reply.status_code == 405
    message = reply.json()["message"]
    assert re.match(r"The input could not be validated\. .*" + re.escape(reason), message)
    assert entries(api) == []


# C1.5
def test_fields_that_the_interface_does_not_name_are_ignored(api):
    body = {"subscriptions": [{"feed_url": A, "title": {"x": [None]}}], "device": 5}
    assert len(api.post("/subscriptions", json=body).json()["success"]) == 1


# C1.10
def test_at_most_ten_thousand_items_fit_in_a_request(api):
    item = {"feed_url": A}
    most = api.post("/subscriptions", json={"subscriptions": [item] * 10_000})
    assert (most.status_code, len(most.json()["success"])) == (200, 10_000)
    more = api.post("/subscriptions", json={"subscriptions": [item] * 10_001})
    assert more.status_code == 405
    assert "At most 10,000 subscriptions" in more.json()["message"]
