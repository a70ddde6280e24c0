"""Apps and the Open Podcast API have one list: what one does shows in the other."""

from typing import Any
from urllib.parse import unquote

import pytest
from known_feeds import subscribe_unchecked
from people import EPISODE, HTTP_A, A, B, C, Person, add, move, ok, play

from feedkeep.rules.feed_urls import parse_feed_url, usual_spellings

IMPOSSIBLE = "https://feeds..example.org/feed"


def listed(person: Person) -> dict[str, dict[str, Any]]:
    entries = ok(person.interface().get("/subscriptions"))["subscriptions"]
    return {entry["guid"]: entry for entry in entries}


def test_what_an_app_adds_has_its_derived_guid_in_the_interface(person):
    add(person, A)
    entry = listed(person)[parse_feed_url(A).guid]
    assert (entry["feed_url"], entry["is_subscribed"]) == (A, True)


def test_what_is_added_over_the_interface_comes_down_to_apps(person):
    since = ok(person.app().get(person.changes()))["timestamp"]
    items = [{"feed_url": A, "guid": "00000000-0000-4000-8000-000000000001"}]
    ok(person.interface().post("/subscriptions", json={"subscriptions": items}))
    assert ok(person.app().get(person.changes(), params={"since": since}))["add"] == [A]


def test_removing_is_unsubscribing_and_never_a_deletion(person):
    add(person, A)
    ok(person.app().post(person.changes(), json={"add": [], "remove": [A]}))
    entry = listed(person)[parse_feed_url(A).guid]
    assert entry["is_subscribed"] is False
    assert "deleted" not in entry
    add(person, A)
    assert listed(person)[parse_feed_url(A).guid]["is_subscribed"] is True


def test_unsubscribing_and_deleting_over_the_interface_is_removing_for_apps(person):
    add(person, A, B)
    since = ok(person.app().get(person.changes()))["timestamp"]
    api = person.interface()
    ok(api.patch(f"/subscriptions/{parse_feed_url(A).guid}", json={"is_subscribed": False}))
    assert api.delete(f"/subscriptions/{parse_feed_url(B).guid}").status_code == 202
    told = ok(person.app().get(person.changes(), params={"since": since}))
    assert (told["add"], told["remove"]) == ([], [*usual_spellings(A), *usual_spellings(B)])
    add(person, B)
    assert person.subscribed() == {B}


def test_a_move_is_sent_to_no_app_that_has_the_feed(person):
    """AntennaPod and Kasts delete what they are told to remove, with downloads and play states."""
    add(person, A)
    app = person.app()
    since = ok(app.get(person.changes()))["timestamp"]
    move(person, A, B)
    told = ok(app.get(person.changes(), params={"since": since}))
    assert (told["add"], told["remove"]) == ([], [])
    assert ok(app.get(f"/subscriptions/{person.name}/phone.json")) == [B]
    told = ok(app.post(person.changes(), json={"add": [f" {A}"], "remove": []}))
    assert told["update_urls"] == [[f" {A}", A]]


# C3.3
def test_links_to_subscribe_are_understood_from_apps_and_never_in_the_interface(person):
    link = A.replace("https:", "feed:")
    told = ok(person.app().post(person.changes(), json={"add": [link, "feeds.opml"], "remove": []}))
    assert told["update_urls"] == [[link, A], ["feeds.opml", ""]]
    ok(person.app().post(f"/api/2/episodes/{person.name}.json", json=[play(link, EPISODE, 7)]))
    for asked in (A, link):
        path = f"/api/2/episodes/{person.name}.json"
        actions = ok(person.app().get(path, params={"podcast": asked}))["actions"]
        assert [action["podcast"] for action in actions] == [A]
    ok(person.app().post(person.changes(), json={"add": [], "remove": [link]}))
    assert person.subscribed() == set()
    items = {"subscriptions": [{"feed_url": link}, {"feed_url": f"http://{A}"}]}
    refused = ok(person.interface().post("/subscriptions", json=items))["failure"]
    assert [item["message"].split(":")[0] for item in refused] == [
        'Unsupported protocol "feed"',
        "Two protocols present",
    ]


# C3.1, C3.18
def test_impossible_hosts_are_refused_from_apps_and_sent_to_none(person):
    told = ok(person.app().post(person.changes(), json={"add": [IMPOSSIBLE, A], "remove": []}))
    assert told["update_urls"] == [[IMPOSSIBLE, ""]]
    subscribe_unchecked(person.process, person.name, IMPOSSIBLE)
    actions = [play(podcast, EPISODE, 7) for podcast in (IMPOSSIBLE, A)]
    ok(person.app().post(person.episodes, json=actions))
    names = {"podcast": IMPOSSIBLE, "episode": EPISODE}
    settings = f"/api/2/settings/{person.name}/episode.json"
    ok(person.app().post(settings, params=names, json={"set": {"is_favorite": True}}))
    nextcloud = "/index.php/apps/gpoddersync"
    for path in (
        person.changes(),
        f"/api/2/updates/{person.name}/phone.json",
        *(f"/subscriptions/{person.name}{device}.{ending}"
          for device in ("", "/phone") for ending in ("json", "opml", "txt")),
        f"{nextcloud}/subscriptions",
    ):  # fmt: skip
        reply = person.app().get(path)
        assert reply.status_code == 200
        assert A in reply.text
        assert IMPOSSIBLE not in reply.text
    for path in (person.episodes, f"{nextcloud}/episode_action"):
        assert [action["podcast"] for action in ok(person.app().get(path))["actions"]] == [A]
    assert ok(person.app().get(f"/api/2/favorites/{person.name}.json")) == []
    assert person.app().put(f"/subscriptions/{person.name}/phone.json", json=[B]).is_success
    assert person.subscribed() == {B, IMPOSSIBLE}


def test_an_app_that_took_https_over_from_a_redirect_is_not_sent_back_to_http(person):
    add(person, HTTP_A)
    gpodder, path = person.app(), person.changes("desk")
    told = ok(gpodder.post(path, json={"add": [f"{A}/"], "remove": [HTTP_A]}))
    assert told["update_urls"] == []
    assert ok(gpodder.get(f"/subscriptions/{person.name}/desk.json")) == [HTTP_A]
    ok(gpodder.post(path, json={"add": [], "remove": [f"{A}/"]}))
    assert person.subscribed() == set()


def test_an_app_that_takes_the_urls_it_is_told_unsubscribes_from_a_feed_that_moved(person):
    """gPodder gives its podcast the URL that it is told in `update_urls`."""
    add(person, A)
    move(person, A, B)
    gpodder, path = person.app(), person.changes("desk")
    told = ok(gpodder.post(path, json={"add": [A], "remove": []}))
    has = dict(told["update_urls"]).get(A, A)
    ok(gpodder.post(path, json={"add": [], "remove": [has]}))
    assert person.subscribed() == set()


def test_what_is_no_url_is_told_also_if_it_is_empty(person):
    told = ok(person.app().post(person.changes(), json={"add": ["", A], "remove": []}))
    assert told["update_urls"] == [["", ""]]


def test_an_unsubscription_reaches_a_device_that_has_the_feed_in_another_spelling(person):
    """AntennaPod removes a podcast by the exact text of its URL, and ignores `update_urls`."""
    add(person, A)
    app = person.app()
    for number, spelling in enumerate((HTTP_A, f"{A}/", f"{HTTP_A}/")):
        path = person.changes(f"phone{number}")
        since = ok(app.post(path, json={"add": [spelling], "remove": []}))["timestamp"]
        api = person.interface()
        ok(api.patch(f"/subscriptions/{parse_feed_url(A).guid}", json={"is_subscribed": False}))
        assert spelling in ok(app.get(path, params={"since": since}))["remove"]


def test_apps_that_are_told_of_a_move_and_of_the_way_back_end_with_the_url_of_the_start(person):
    add(person, A)
    app, path = person.app(), person.changes()
    has, since = {A}, ok(app.get(path))["timestamp"]
    for old, new in ((A, B), (B, A), (A, B)):
        person.process.must("move", person.name, old, new, "--tell-apps")
        told = ok(app.get(path, params={"since": since}))
        assert told["add"] == [new]
        assert told["remove"] == usual_spellings(old)
        has, since = (has | {new}) - set(told["remove"]), told["timestamp"]
    assert has == {B}


def test_who_begins_after_a_move_gets_the_new_url_and_clears_a_double_away(person):
    add(person, A)
    move(person, A, B)
    tablet, path = person.app(), person.changes("tablet")
    told = ok(tablet.get(path, params={"since": 0}))
    assert (told["add"], told["remove"]) == ([B], [])
    ok(tablet.post(path, json={"add": [A], "remove": []}))  # it was on the tablet already
    ok(tablet.post(path, json={"add": [], "remove": [A]}))
    assert person.subscribed() == {B}
    ok(tablet.post(path, json={"add": [], "remove": [B]}))
    assert person.subscribed() == set()


def test_who_has_a_feed_by_its_old_url_alone_unsubscribes_by_it_and_all_others_hear(person):
    add(person, A)
    other = person.app()
    since = ok(other.get(person.changes("laptop"), params={"since": 0}))["timestamp"]
    move(person, A, B)
    ok(person.app().post(person.changes(), json={"add": [], "remove": [A]}))
    assert person.subscribed() == set()
    told = ok(other.get(person.changes("laptop"), params={"since": since}))
    assert told["add"] == []
    assert set(told["remove"]) == {*usual_spellings(A), *usual_spellings(B)}


def test_a_url_that_is_added_and_removed_at_once_is_added(person):
    add(person, B)
    body = {"add": [A, B], "remove": [HTTP_A, B]}
    ok(person.app().post(person.changes(), json=body))
    assert person.subscribed() == {A, B}


def test_a_first_sync_that_is_tried_again_has_nothing_to_remove_either(person):
    """What is on the phone already is its owner's; removing it would delete their files."""
    add(person, A, B)
    ok(person.app().post(person.changes(), json={"add": [], "remove": [B]}))
    phone = person.app()
    for _ in range(2):  # the first reply was lost
        told = ok(phone.get(person.changes(), params={"since": 0}))
        assert (told["add"], told["remove"]) == ([A], [])
    heard = ok(phone.get(person.changes(), params={"since": told["timestamp"]}))
    assert (heard["add"], heard["remove"]) == ([], [])


def test_episode_actions_come_with_the_url_that_the_podcast_has_now(person):
    add(person, A)
    ok(person.app().post(person.episodes, json=[play(HTTP_A, f"{A}/1.mp3", 10)]))
    (told,) = ok(person.app().get(person.episodes))["actions"]
    assert told["podcast"] == A
    move(person, A, B)
    (told,) = ok(person.app().get(person.episodes))["actions"]
    assert told["podcast"] == B


def test_actions_of_a_podcast_that_moved_are_about_one_episode_by_either_url(person):
    add(person, A)
    app = person.app()
    earlier, later = {"timestamp": "2026-11-01T10:00:00"}, {"timestamp": "2026-11-02T10:00:00"}
    ok(app.post(person.episodes, json=[play(A, EPISODE, 100, device="phone", **earlier)]))
    move(person, A, B)
    without_total = play(B, EPISODE, 900, device="desk", **later)
    del without_total["total"]  # which the phone has told
    ok(app.post(person.episodes, json=[without_total]))
    (last,) = ok(app.get(person.episodes, params={"aggregated": "true"}))["actions"]
    assert (last["podcast"], last["position"], last["total"]) == (B, 900, 3600)
    for podcast in (A, B):
        told = ok(app.get(person.episodes, params={"podcast": podcast}))["actions"]
        assert [action["position"] for action in told] == [900]


@pytest.mark.parametrize("is_late", [False, True])
def test_what_was_played_of_two_feeds_that_become_one_is_one_position(person, is_late):
    """Kasts would go where the last play of a reply says."""
    add(person, A, B)
    app = person.app()
    newer = play(A, EPISODE, 900, device="phone", timestamp="2026-11-02T10:00:00")
    older = play(B, EPISODE, 50, device="desk", timestamp="2026-11-01T10:00:00")
    ok(app.post(person.episodes, json=[newer] if is_late else [newer, older]))
    since = ok(app.get(person.episodes))["timestamp"]
    merged = {"new_guid": parse_feed_url(B).guid}
    ok(person.interface().patch(f"/subscriptions/{parse_feed_url(A).guid}", json=merged))
    if is_late:
        ok(app.post(person.episodes, json=[older]))
    else:
        (again,) = ok(app.get(person.episodes, params={"since": since}))["actions"]
        assert (again["podcast"], again["position"]) == (A, 900)
    for asked in ({}, {"podcast": A}, {"podcast": B}, {"aggregated": "true"}):
        told = ok(app.get(person.episodes, params=asked))["actions"]
        assert [(one["podcast"], one["position"]) for one in told] == [(A, 900)]


def test_apps_that_take_escapes_away_add_no_feed_twice_and_remove_the_feed_that_they_mean(person):
    colons, letters = (
        "https://a.example/users%3A1/rss",
        "https://b.example/caf%C3%A9%20au%20lait.xml",
    )
    add(person, colons, letters, C)
    decoded = [unquote(url) for url in (colons, letters, C)]
    kasts = person.app()
    told = ok(kasts.post(person.changes("kasts"), json={"add": decoded, "remove": []}))
    # White space is in no URL, so this one is no addition; "" makes gPodder drop it.
    assert told["update_urls"] == [[decoded[0], colons], [decoded[1], ""]]
    assert person.subscribed() == {colons, letters, C}
    ok(kasts.post(person.changes("kasts"), json={"add": [], "remove": decoded[:2]}))
    assert person.subscribed() == {C}


def test_actions_of_apps_that_take_escapes_away_are_of_the_feed_that_they_mean(person):
    colons, spaces = "https://a.example/users%3A1/rss", "https://b.example/au%20lait.xml"
    add(person, colons, spaces)
    nowhere = "https://a.example/users:2/rss"
    sent = [
        play(podcast, f"https://cdn.example/{number}.mp3", 10)
        for number, podcast in enumerate([colons, unquote(colons), unquote(spaces), nowhere])
    ]
    unlisted = play("https://c.example/a b", EPISODE, 10)
    app = person.app()
    assert ok(app.post(person.episodes, json=[*sent, unlisted]))["update_urls"] == [
        ["https://c.example/a b", ""]
    ]
    told = {
        action["episode"][-5]: action["podcast"]
        for action in ok(app.get(person.episodes))["actions"]
    }
    assert told == {"0": colons, "1": colons, "2": spaces, "3": nowhere}


def test_the_interface_takes_a_url_without_its_escapes_for_another(person):
    colons = "https://a.example/users%3A1/rss"
    add(person, colons)
    sent = {"subscriptions": [{"feed_url": unquote(colons)}]}
    ok(person.interface().post("/subscriptions", json=sent))
    assert person.subscribed() == {colons, unquote(colons)}
