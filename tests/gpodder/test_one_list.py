"""Apps and the Open Podcast API have one list: what one does shows in the other."""

from __future__ import annotations

from typing import Any

from people import HTTP_A, A, B, Person, add, ok, play

from feedkeep.rules.feed_urls import parse_feed_url


def listed(person: Person) -> dict[str, dict[str, Any]]:
    entries = ok(person.interface().get("/subscriptions"))["subscriptions"]
    return {entry["guid"]: entry for entry in entries}


def test_what_an_app_adds_has_its_derived_guid_in_the_interface(person: Person) -> None:
    add(person, A)
    entry = listed(person)[parse_feed_url(A).guid]
    assert (entry["feed_url"], entry["is_subscribed"]) == (A, True)


def test_what_is_added_over_the_interface_comes_down_to_apps(person: Person) -> None:
    since = ok(person.app().get(person.changes()))["timestamp"]
    items = [{"feed_url": A, "guid": "00000000-0000-4000-8000-000000000001"}]
    ok(person.interface().post("/subscriptions", json={"subscriptions": items}))
    assert ok(person.app().get(person.changes(), params={"since": since}))["add"] == [A]


def test_removing_is_unsubscribing_and_never_a_deletion(person: Person) -> None:
    add(person, A)
    ok(person.app().post(person.changes(), json={"add": [], "remove": [A]}))
    entry = listed(person)[parse_feed_url(A).guid]
    assert entry["is_subscribed"] is False
    assert "deleted" not in entry
    add(person, A)
    assert listed(person)[parse_feed_url(A).guid]["is_subscribed"] is True


def test_unsubscribing_and_deleting_over_the_interface_is_removing_for_apps(
    person: Person,
) -> None:
    add(person, A, B)
    since = ok(person.app().get(person.changes()))["timestamp"]
    api = person.interface()
    ok(api.patch(f"/subscriptions/{parse_feed_url(A).guid}", json={"is_subscribed": False}))
    assert api.delete(f"/subscriptions/{parse_feed_url(B).guid}").status_code == 202
    told = ok(person.app().get(person.changes(), params={"since": since}))
    assert (told["add"], told["remove"]) == ([], [A, B])
    add(person, B)
    assert person.subscribed() == {B}


def test_a_feed_that_moved_is_its_new_url_added_and_its_old_one_removed(person: Person) -> None:
    add(person, A)
    since = ok(person.app().get(person.changes()))["timestamp"]
    guid = parse_feed_url(A).guid
    ok(person.interface().patch(f"/subscriptions/{guid}", json={"new_feed_url": B}))
    told = ok(person.app().get(person.changes(), params={"since": since}))
    assert (told["add"], told["remove"]) == ([B], [A])
    assert ok(person.app().get(f"/subscriptions/{person.name}/phone.json")) == [B]
    told = ok(person.app().post(person.changes(), json={"add": [A], "remove": []}))
    assert told["update_urls"] == [[A, B]]


def test_a_url_that_is_added_and_removed_at_once_is_added(person: Person) -> None:
    add(person, B)
    body = {"add": [A, B], "remove": [HTTP_A, B]}
    ok(person.app().post(person.changes(), json=body))
    assert person.subscribed() == {A, B}


def test_a_first_sync_that_is_tried_again_has_nothing_to_remove_either(person: Person) -> None:
    """What is on the phone already is its owner's; removing it would delete their files."""
    add(person, A, B)
    ok(person.app().post(person.changes(), json={"add": [], "remove": [B]}))
    phone = person.app()
    for _ in range(2):  # the first reply was lost
        told = ok(phone.get(person.changes(), params={"since": 0}))
        assert (told["add"], told["remove"]) == ([A], [])
    heard = ok(phone.get(person.changes(), params={"since": told["timestamp"]}))
    assert (heard["add"], heard["remove"]) == ([], [])


def test_episode_actions_come_with_the_url_that_the_podcast_has_now(person: Person) -> None:
    add(person, A)
    ok(person.app().post(person.episodes, json=[play(HTTP_A, f"{A}/1.mp3", 10)]))
    (told,) = ok(person.app().get(person.episodes))["actions"]
    assert told["podcast"] == A
    guid = parse_feed_url(A).guid
    ok(person.interface().patch(f"/subscriptions/{guid}", json={"new_feed_url": B}))
    (told,) = ok(person.app().get(person.episodes))["actions"]
    assert told["podcast"] == B
