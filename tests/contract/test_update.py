"""Contract, section 5: PATCH /subscriptions/{guid}."""

import pytest
from names import (
    G1,
    G2,
    G3,
    UNKNOWN,
    A,
    B,
    C,
    delete,
    derived,
    entries,
    get,
    patch,
    refused,
    status,
)


# C4.3, C5.19
@pytest.mark.parametrize("value", [True, False])
def test_is_subscribed_is_set_and_stamped_also_when_it_was_so_already(api, add, value):
    stamps = [add(A)["subscription_changed"]]
    for _ in range(2):
        reply = patch(api, derived(A), is_subscribed=value)
        assert set(reply) == {"is_subscribed", "subscription_changed"}
        assert reply["is_subscribed"] is value
        stamps.append(reply["subscription_changed"])
    assert stamps == sorted(set(stamps))
    shown = get(api, derived(A))
    assert (shown["is_subscribed"], shown["subscription_changed"]) == (value, stamps[-1])


# C4.3, C5.19
def test_new_feed_url_is_set_and_stamped_also_when_it_was_so_already(api, add):
    stamps = [add((A, G1))["subscription_changed"]]
    for _ in range(2):
        reply = patch(api, G1, new_feed_url=f" {B} ")
        assert set(reply) == {"new_feed_url", "subscription_changed"}
        assert reply["new_feed_url"] == B
        stamps.append(reply["subscription_changed"])
    assert stamps == sorted(set(stamps))
    assert get(api, G1)["feed_url"] == B


# C3.7, C4.3, C4.4, C5.20
def test_new_guid_becomes_the_present_guid_and_the_old_one_an_announced_pointer(api, add):
    changed = add((A, G1))["subscription_changed"]
    reply = patch(api, G1, new_guid=G2.upper())
    assert reply == {"new_guid": G2, "guid_changed": reply["guid_changed"]}
    shown = get(api, G2)
    assert (shown["guid_changed"], shown["subscription_changed"]) == (
        reply["guid_changed"],
        changed,
    )
    assert get(api, G1)["new_guid"] == G2
    assert get(api, G1)["guid_changed"] < reply["guid_changed"]


def test_new_guid_is_stamped_also_when_equal(api, add):
    add((A, G1))
    first = patch(api, G1, new_guid=G1)
    second = patch(api, G1, new_guid=G1)
    assert first["guid_changed"] < second["guid_changed"]
    assert get(api, G1)["guid_changed"] == second["guid_changed"]
    assert len(entries(api)) == 1


# C5.16
def test_all_three_change_in_one_step(api, add):
    add((A, G1))
    reply = patch(api, G1, new_feed_url=B, new_guid=G2, is_subscribed=False)
    assert set(reply) == {
        "new_feed_url",
        "is_subscribed",
        "subscription_changed",
        "new_guid",
        "guid_changed",
    }
    assert reply["subscription_changed"] == reply["guid_changed"]
    shown = get(api, G2)
    assert (shown["feed_url"], shown["is_subscribed"]) == (B, False)


# C5.18
def test_nothing_sent_changes_nothing_and_answers_nothing(api, add):
    add(A)
    before = get(api, derived(A))
    assert patch(api, derived(A)) == {}
    assert patch(api, derived(A), title="x") == {}
    assert get(api, derived(A)) == before


# C1.21, C5.18
def test_null_counts_as_omitted(api, add):
    add((A, G1))
    before = entries(api)
    assert patch(api, G1, is_subscribed=None, new_guid=None, new_feed_url=None) == {}
    assert entries(api) == before
    assert set(patch(api, G1, is_subscribed=False, new_guid=None, new_feed_url=None)) == {
        "is_subscribed", "subscription_changed",
    }  # fmt: skip


# C3.8
def test_a_pointer_stands_for_its_subscription(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    patch(api, G1, is_subscribed=False)
    assert get(api, G2)["is_subscribed"] is False
    patch(api, derived(A), new_guid=G3)
    assert get(api, G1)["new_guid"] == G3


# C5.16, C5.17
@pytest.mark.parametrize(
    "fields",
    [
        {"is_subscribed": "true"},
        {"is_subscribed": 1},
        {"new_feed_url": 5},
        {"new_feed_url": "a.example"},
        {"new_feed_url": "ftp://a.example"},
        {"new_feed_url": "feed:https://a.example"},
        {"new_feed_url": "http://https://a.example"},
        {"new_feed_url": "https://a..example"},
        {"new_guid": 5},
        {"new_guid": ""},
        {"new_guid": "x"},
    ],
)
def test_a_field_that_is_not_valid_is_405_for_the_whole_request(api, add, fields):
    add((A, G1))
    before = get(api, G1)
    valid = {"is_subscribed": False, "new_feed_url": B, "new_guid": G2}
    refused(api, G1, **(valid | fields))
    assert get(api, G1) == before
    assert status(api, G2) == 404


# C5.17
def test_validity_is_judged_before_existence(api):
    refused(api, UNKNOWN, new_guid="x")
    refused(api, UNKNOWN, new_feed_url="x")
    reply = api.patch(f"/subscriptions/{UNKNOWN}", json={})
    assert (reply.status_code, reply.json()["code"]) == (404, "404")


# C5.17
def test_a_deleted_subscription_is_404_also_through_its_pointers(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    for guid in (G1, G2, derived(A)):
        assert api.patch(f"/subscriptions/{guid}", json={}).status_code == 404
        reply = api.patch(f"/subscriptions/{guid}", json={"is_subscribed": True})
        assert reply.status_code == 404
        assert reply.json() == {"code": "404", "message": "The resource was not found."}


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


# C5.21
def test_a_new_guid_that_leads_to_another_subscription_absorbs_that(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=derived(B))
    assert get(api, derived(B))["feed_url"] == A
    assert get(api, G1)["new_guid"] == derived(B)
    assert get(api, G2)["new_guid"] == derived(B)
    assert "guid_changed" in get(api, G2)


# C3.17, C5.21
def test_a_merge_takes_the_url_that_is_sent_and_loses_none(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=G2, new_feed_url=B)
    assert get(api, G2)["feed_url"] == B
    assert get(api, derived(A))["new_guid"] == G2
    assert add(A)["guid"] == G2


# C3.17
def test_merging_never_unsubscribes_and_tells_a_state_that_it_changed(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, is_subscribed=False)
    reply = patch(api, G1, new_guid=G2)
    assert reply["is_subscribed"] is True
    assert reply["subscription_changed"] == get(api, G2)["subscription_changed"]
    add((C, G3))
    patch(api, G3, is_subscribed=False)
    assert set(patch(api, G2, new_guid=G3)) == {"new_guid", "guid_changed"}
    assert get(api, G3)["is_subscribed"] is True


def test_a_merge_of_two_unsubscribed_ones_is_unsubscribed(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, is_subscribed=False)
    patch(api, G2, is_subscribed=False)
    patch(api, G1, new_guid=G2)
    assert get(api, G2)["is_subscribed"] is False


# C5.22
def test_is_subscribed_sent_with_a_merge_has_the_last_word(api, add):
    add((A, G1), (B, G2))
    assert patch(api, G1, new_guid=G2, is_subscribed=False)["is_subscribed"] is False
    assert get(api, G2)["is_subscribed"] is False


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


# C3.16, C5.23
def test_a_url_of_another_live_subscription_is_405_and_the_message_names_its_guid(api, add):
    add((A, G1), (B, G2))
    message = refused(api, G1, new_feed_url="http://b.example/feed/")
    assert G2 in message
    assert "new_guid" in message
    assert get(api, G1)["feed_url"] == A
    patch(api, G1, new_guid=G2, new_feed_url=B)
    assert get(api, G2)["feed_url"] == B


def test_a_url_of_a_third_subscription_is_405_and_the_merge_is_not_done(api, add):
    add((A, G1), (B, G2), (C, G3))
    refused(api, G1, new_guid=G2, new_feed_url=C)
    assert get(api, G1)["feed_url"] == A
    assert get(api, G2)["feed_url"] == B


# C3.16
def test_an_app_that_takes_a_login_page_for_a_moved_feed_folds_nothing(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_feed_url="https://wifi.example/login")
    refused(api, G2, new_feed_url="https://wifi.example/login")
    patch(api, G1, new_feed_url=A)
    assert status(api, derived("https://wifi.example/login")) == 404
    assert [get(api, guid)["feed_url"] for guid in (G1, G2)] == [A, B]


# C5.24
def test_a_url_of_a_deleted_subscription_absorbs_that(api, add):
    add((A, G1), (B, G2))
    delete(api, G2)
    reply = patch(api, G1, new_feed_url=B)
    assert set(reply) == {"new_feed_url", "subscription_changed"}
    assert get(api, G1)["feed_url"] == B
    assert get(api, G2)["new_guid"] == G1
    assert "guid_changed" in get(api, G2)


# C5.25
def test_a_former_url_of_a_deleted_subscription_leads_here_now(api, add):
    add((A, G1), (B, G2))
    patch(api, G2, new_feed_url=C)
    delete(api, G2)
    patch(api, G1, new_feed_url=B)
    assert get(api, derived(B))["new_guid"] == G1
    assert status(api, G2) == 410
    assert status(api, derived(C)) == 410


def test_the_url_left_by_a_move_still_leads_to_the_subscription(api, add):
    add((A, G1))
    patch(api, G1, new_feed_url=B)
    assert get(api, derived(A))["new_guid"] == G1
    assert get(api, derived(B))["new_guid"] == G1
    assert add(A)["guid"] == G1


# C5.26
def test_going_back_to_a_former_url_undoes_the_move(api, add):
    add((A, G1))
    patch(api, G1, new_feed_url=B)
    patch(api, G1, new_feed_url="http://a.example/feed/")
    assert status(api, derived(B)) == 404
    assert get(api, derived(A))["new_guid"] == G1
    assert add(B)["guid"] == derived(B)


# C5.26
def test_the_url_of_a_merged_feed_leads_to_the_result_after_any_move(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=G2)
    for url in (B, A, C, B, A):
        patch(api, G2, new_feed_url=url)
        assert get(api, derived(B))["new_guid"] == G2
    assert add(B)["guid"] == G2


def test_going_back_further_than_one_move_drops_only_the_url_left(api, add):
    add((A, G1))
    patch(api, G1, new_feed_url=B)
    patch(api, G1, new_feed_url=C)
    patch(api, G1, new_feed_url=A)
    assert status(api, derived(C)) == 404
    assert get(api, derived(B))["new_guid"] == G1


# C5.26
def test_a_url_left_stays_if_its_derived_guid_was_ever_announced(api, add):
    add(A)
    patch(api, derived(A), new_feed_url=B)
    patch(api, derived(A), new_guid=G1)
    patch(api, G1, new_feed_url=A)
    assert status(api, derived(B)) == 404
    patch(api, G1, new_feed_url=B)
    patch(api, G1, new_feed_url=A)
    patch(api, G1, new_feed_url=B)
    assert get(api, derived(A))["new_guid"] == G1


def test_a_url_left_stays_if_its_derived_guid_is_the_present_one(api, add):
    add((A, derived(B)))
    patch(api, derived(B), new_feed_url=B)
    patch(api, derived(B), new_feed_url=A)
    assert get(api, derived(B))["feed_url"] == A
    assert status(api, derived(A)) == 200


def test_a_move_between_http_and_https_is_no_move_of_the_guid(api, add):
    add(A)
    patch(api, derived(A), new_feed_url="http://a.example/feed")
    assert get(api, derived(A))["feed_url"] == "http://a.example/feed"
    assert len(entries(api)) == 1


def test_going_back_to_an_old_guid_makes_that_the_present_one(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    patch(api, G2, new_guid=G1)
    assert "new_guid" not in get(api, G1)
    assert get(api, G2)["new_guid"] == G1


# C3.11
def test_a_thousand_pointers_are_kept_and_one_more_is_refused(api, add):
    former = [f"{number:08x}-0000-4000-9000-000000000000" for number in range(999)]
    for start in range(0, 1_000, 20):
        reply = add(*((A, guid) for guid in [*former, G1][start : start + 20]))
        assert len(reply["success"]) == 20
    before = get(api, G1)
    failed = add((B, G1))
    assert "at most 1,000" in failed["failure"][0]["message"]
    assert "at most 1,000" in refused(api, G1, new_guid=G2)
    assert "at most 1,000" in refused(api, G1, new_feed_url=B)
    assert get(api, G1) == before
    assert status(api, derived(B)) == 404
    assert get(api, former[0])["new_guid"] == G1
