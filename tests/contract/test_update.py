"""Contract, section 5: PATCH /subscriptions/{guid}."""

import pytest
from asking import delete, entries, get, patch, refused, status, told
from names import G1, G2, G3, NOT_FOUND, UNKNOWN, A, B, C, D, derived


# C4.3, C5.19
@pytest.mark.parametrize(
    ("name", "sent", "value"),
    [
        ("is_subscribed", True, True),
        ("is_subscribed", False, False),
        ("new_feed_url", f" {B} ", B),
    ],
)
def test_a_field_is_set_and_stamped_also_when_it_was_so_already(api, add, name, sent, value):
    stamps = [add((A, G1))["subscription_changed"]]
    for _ in range(2):
        reply = patch(api, G1, **{name: sent})
        stamps.append(reply["subscription_changed"])
        assert reply == {name: value, "subscription_changed": stamps[-1]}
    assert stamps == sorted(set(stamps))
    shown = get(api, G1)
    assert shown[name.removeprefix("new_")] == value
    assert shown["subscription_changed"] == stamps[-1]
    assert "guid_changed" not in shown


# C3.7, C4.3, C4.4, C5.20
def test_new_guid_becomes_the_present_guid_and_the_old_one_an_announced_pointer(api, add):
    changed = add((A, G1))["subscription_changed"]
    stamps = [patch(api, G1, new_guid=G1)["guid_changed"] for _ in range(2)]
    assert get(api, G1)["guid_changed"] == stamps[1]
    assert len(entries(api)) == 1
    reply = patch(api, G1, new_guid=G2.upper())
    stamps.append(reply["guid_changed"])
    assert reply == {"new_guid": G2, "guid_changed": stamps[2]}
    assert stamps == sorted(set(stamps))
    shown = get(api, G2)
    assert (shown["guid_changed"], shown["subscription_changed"]) == (stamps[2], changed)
    assert get(api, G1)["new_guid"] == G2
    assert get(api, G1)["guid_changed"] < stamps[2]
    patch(api, G2, new_guid=G1)
    assert "new_guid" not in get(api, G1)
    assert get(api, G2)["new_guid"] == G1


# C5.16
def test_all_three_change_in_one_step(api, add):
    add((A, G1))
    reply = patch(api, G1, new_feed_url=B, new_guid=G2, is_subscribed=False)
    stamp = reply["guid_changed"]
    sent = {"new_feed_url": B, "is_subscribed": False, "new_guid": G2}
    assert reply == {**sent, "subscription_changed": stamp, "guid_changed": stamp}
    shown = get(api, G2)
    assert (shown["feed_url"], shown["is_subscribed"]) == (B, False)


# C1.21, C5.18
def test_nothing_or_null_sent_changes_nothing_and_answers_nothing(api, add):
    add((A, G1))
    before = entries(api)
    omitted = dict.fromkeys(("is_subscribed", "new_guid", "new_feed_url"))
    for fields in ({}, {"title": "x"}, omitted):
        assert patch(api, G1, **fields) == {}
    assert entries(api) == before
    answered = patch(api, G1, **omitted | {"is_subscribed": False})
    assert set(answered) == {"is_subscribed", "subscription_changed"}


# C3.8
def test_a_pointer_stands_for_its_subscription(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    patch(api, G1, is_subscribed=False)
    assert get(api, G2)["is_subscribed"] is False
    patch(api, derived(A), new_guid=G3)
    assert get(api, G1)["new_guid"] == G3


# C5.16, C5.17
def test_a_field_that_is_not_valid_is_405_for_the_whole_request(api, add):
    add((A, G1))
    before = get(api, G1)
    valid = {"is_subscribed": False, "new_feed_url": B, "new_guid": G2}
    for name, values in {
        "is_subscribed": ("true", 1),
        "new_feed_url": (
            5, "a.example", "ftp://a.example", "feed:https://a.example",
            "http://https://a.example", "https://a..example",
        ),
        "new_guid": (5, "", "x"),
    }.items():  # fmt: skip
        for value in values:
            refused(api, G1, **valid | {name: value})
    assert get(api, G1) == before
    assert status(api, G2) == 404


# C5.17
def test_validity_is_judged_before_existence_and_a_deleted_subscription_is_404(api, add):
    refused(api, UNKNOWN, new_guid="x")
    refused(api, UNKNOWN, new_feed_url="x")
    add((A, G1))
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    for guid in (UNKNOWN, G1, G2, derived(A)):
        for fields in ({}, {"is_subscribed": True}):
            assert told(api.patch(f"/subscriptions/{guid}", json=fields), 404) == NOT_FOUND


# C3.7, C5.21
def test_a_new_guid_of_another_subscription_absorbs_it_and_keeps_the_own_url(api, add):
    add((A, G1), (B, G2))
    reply = patch(api, G1, new_guid=G2)
    assert set(reply) == {"new_guid", "guid_changed"}
    shown = get(api, G2)
    assert shown["feed_url"] == A
    assert shown["subscription_changed"] == shown["guid_changed"] == reply["guid_changed"]
    for guid in (G1, derived(A), derived(B)):
        assert get(api, guid)["new_guid"] == G2
    add((C, G3))
    patch(api, G2, new_guid=derived(C))  # which leads to it
    assert get(api, derived(C))["feed_url"] == A
    assert [get(api, guid)["new_guid"] for guid in (G1, G2, G3)] == [derived(C)] * 3
    assert "guid_changed" in get(api, G3)


# C3.17, C5.21, C5.22
@pytest.mark.parametrize(
    ("sent", "off", "is_subscribed", "told_fields"),
    [
        ({}, {G1}, True, {"is_subscribed", "subscription_changed"}),  # a state that changed
        ({}, {G2}, True, set()),
        ({}, {G1, G2}, False, set()),
        ({"is_subscribed": False}, set(), False, {"is_subscribed", "subscription_changed"}),
    ],
)
def test_merging_unsubscribes_only_if_both_were_or_that_is_sent(
    api, add, sent, off, is_subscribed, told_fields
):
    add((A, G1), (B, G2))
    for guid in off:
        patch(api, guid, is_subscribed=False)
    reply = patch(api, G1, new_guid=G2, **sent)
    assert set(reply) == {"new_guid", "guid_changed"} | told_fields
    shown = get(api, G2)
    assert reply.get("is_subscribed", is_subscribed) is shown["is_subscribed"] is is_subscribed
    assert reply.get("subscription_changed", shown["guid_changed"]) == shown["subscription_changed"]


# C5.21
def test_a_deleted_subscription_is_absorbed_as_an_unsubscribed_one(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, is_subscribed=False)
    delete(api, G2)
    patch(api, G1, new_guid=G2)
    shown = get(api, G2)
    assert (shown["feed_url"], shown["is_subscribed"]) == (A, False)
    assert "deleted" not in shown
    assert get(api, derived(B))["new_guid"] == G2


# C3.16, C3.17, C5.21, C5.23
def test_a_url_of_another_live_subscription_is_405_unless_the_two_are_merged(api, add):
    add((A, G1), (B, G2), (C, G3))
    message = refused(api, G1, new_feed_url="http://b.example/feed/")
    assert G2 in message
    assert "new_guid" in message
    refused(api, G1, new_guid=G2, new_feed_url=C)
    assert [get(api, guid)["feed_url"] for guid in (G1, G2)] == [A, B]
    patch(api, G1, new_guid=G2, new_feed_url=B)
    assert get(api, G2)["feed_url"] == B
    assert get(api, derived(A))["new_guid"] == G2
    assert add(A)["guid"] == G2


# C3.16
def test_an_app_that_takes_a_login_page_for_a_moved_feed_folds_nothing(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_feed_url="https://wifi.example/login")
    refused(api, G2, new_feed_url="https://wifi.example/login")
    patch(api, G1, new_feed_url=A)
    assert status(api, derived("https://wifi.example/login")) == 404
    assert [get(api, guid)["feed_url"] for guid in (G1, G2)] == [A, B]


# C5.24, C5.25
def test_a_url_of_a_deleted_subscription_absorbs_that_and_a_former_one_does_not(api, add):
    add((A, G1), (B, G2), (C, G3))
    delete(api, G2)
    reply = patch(api, G1, new_feed_url=B)
    assert set(reply) == {"new_feed_url", "subscription_changed"}
    assert get(api, G1)["feed_url"] == B
    assert get(api, G2)["new_guid"] == G1
    assert "guid_changed" in get(api, G2)
    patch(api, G3, new_feed_url=D)
    delete(api, G3)
    patch(api, G1, new_feed_url=C)
    assert get(api, derived(C))["new_guid"] == G1
    assert [status(api, guid) for guid in (G3, derived(D))] == [410, 410]


# C5.26
def test_going_back_to_a_former_url_undoes_the_move(api, add):
    add((A, G1))
    patch(api, G1, new_feed_url=B)
    assert [get(api, derived(url))["new_guid"] for url in (A, B)] == [G1, G1]
    assert add(A)["guid"] == G1
    patch(api, G1, new_feed_url="http://a.example/feed/")
    assert status(api, derived(B)) == 404
    assert get(api, derived(A))["new_guid"] == G1
    for url in (B, C, A):
        patch(api, G1, new_feed_url=url)
    assert status(api, derived(C)) == 404  # the URL left alone is dropped
    assert get(api, derived(B))["new_guid"] == G1
    assert add(C)["guid"] == derived(C)


# C5.26
def test_the_url_of_a_merged_feed_leads_to_the_result_after_any_move(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=G2)
    for url in (B, A, C, B, A):
        patch(api, G2, new_feed_url=url)
        assert get(api, derived(B))["new_guid"] == G2
    assert add(B)["guid"] == G2


# C5.26
def test_a_url_left_stays_if_its_derived_guid_was_ever_announced_or_is_present(api, add):
    add(A)
    patch(api, derived(A), new_feed_url=B)
    patch(api, derived(A), new_guid=G1)
    patch(api, G1, new_feed_url=A)
    assert status(api, derived(B)) == 404
    for url in (B, A, B):
        patch(api, G1, new_feed_url=url)
    assert get(api, derived(A))["new_guid"] == G1
    add((C, derived(D)))
    for url in (D, C):
        patch(api, derived(D), new_feed_url=url)
    assert get(api, derived(D))["feed_url"] == C
    assert status(api, derived(C)) == 200


def test_a_move_between_http_and_https_is_no_move_of_the_guid(api, add):
    add(A)
    patch(api, derived(A), new_feed_url="http://a.example/feed")
    assert get(api, derived(A))["feed_url"] == "http://a.example/feed"
    assert len(entries(api)) == 1


# C3.11
def test_a_thousand_pointers_are_kept_and_one_more_is_refused(api, add):
    former = [f"{number:08x}-0000-4000-9000-000000000000" for number in range(999)]
    for start in range(0, 1_000, 20):
        reply = add(*((A, guid) for guid in [*former, G1][start : start + 20]))
        assert len(reply["success"]) == 20
    before = get(api, G1)
    (failure,) = add((B, G1))["failure"]
    for message in (
        failure["message"],
        refused(api, G1, new_guid=G2),
        refused(api, G1, new_feed_url=B),
    ):
        assert "at most 1,000" in message
    assert get(api, G1) == before
    assert status(api, derived(B)) == 404
    assert get(api, former[0])["new_guid"] == G1
