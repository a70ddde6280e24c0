"""Apps and the Open Podcast API have one list: what one does shows in the other."""

from functools import partial
from urllib.parse import unquote

import pytest
from known_feeds import subscribe_unchecked
from people import EPISODE, HTTP_A, NEXTCLOUD, A, B, C, add, change, move, ok, play

from feedkeep.model import Author, CredentialKind
from feedkeep.rules.feed_urls import parse_feed_url, usual_spellings

IMPOSSIBLE = "https://feeds..example.org/feed"
COLONS = "https://a.example/users%3A1/rss"


def listed(person):
    entries = ok(person.interface().get("/subscriptions"))["subscriptions"]
    return {entry["guid"]: entry for entry in entries}


def both(told):
    return told["add"], told["remove"]


def test_what_is_added_on_one_side_is_on_the_other_and_removing_is_no_deletion(person):
    add(person, A)
    entry = listed(person)[parse_feed_url(A).guid]
    assert (entry["feed_url"], entry["is_subscribed"]) == (A, True)
    since = person.pull()["timestamp"]
    items = [{"feed_url": B, "guid": "00000000-0000-4000-8000-000000000001"}]
    ok(person.interface().post("/subscriptions", json={"subscriptions": items}))
    assert person.pull(since=since)["add"] == [B]
    person.push(remove=[A])
    entry = listed(person)[parse_feed_url(A).guid]
    assert entry["is_subscribed"] is False
    assert "deleted" not in entry
    person.push(add=[A, B], remove=[HTTP_A, B])  # at once, they are added
    assert person.subscribed() == {A, B}


def test_unsubscribing_and_deleting_over_the_interface_is_removing_for_apps(person):
    add(person, A, B)
    since = person.pull()["timestamp"]
    change(person, A, is_subscribed=False)
    deleted = person.interface().delete(f"/subscriptions/{parse_feed_url(B).guid}")
    assert deleted.status_code == 202
    assert both(person.pull(since=since)) == ([], [*usual_spellings(A), *usual_spellings(B)])
    add(person, B)
    assert person.subscribed() == {B}


def test_a_move_is_sent_to_no_app_that_has_the_feed(person):
    """AntennaPod and Kasts delete what they are told to remove, with downloads and play states."""
    add(person, A)
    app = person.app()
    since = person.pull(app=app)["timestamp"]
    move(person, A, B)
    assert both(person.pull(app=app, since=since)) == ([], [])
    assert ok(app.get(f"/subscriptions/{person.name}/phone.json")) == [B]
    assert person.push(app=app, add=[f" {A}"])["update_urls"] == [[f" {A}", A]]


# C3.3
def test_links_to_subscribe_are_understood_from_apps_and_never_in_the_interface(person):
    link = A.replace("https:", "feed:")
    told = person.push(add=[link, "feeds.opml", ""])
    assert told["update_urls"] == [[link, A], ["feeds.opml", ""], ["", ""]]
    person.played(play(link, EPISODE, 7))
    for asked in (A, link):
        assert [action["podcast"] for action in person.actions(podcast=asked)] == [A]
    person.push(remove=[link])
    assert person.subscribed() == set()
    items = {"subscriptions": [{"feed_url": link}, {"feed_url": f"http://{A}"}]}
    refused = ok(person.interface().post("/subscriptions", json=items))["failure"]
    reasons = [item["message"].split(":")[0] for item in refused]
    assert reasons == ['Unsupported protocol "feed"', "Two protocols present"]


# C3.1, C3.18
def test_impossible_hosts_are_refused_from_apps_and_sent_to_none(person):
    assert person.push(add=[IMPOSSIBLE, A])["update_urls"] == [[IMPOSSIBLE, ""]]
    subscribe_unchecked(person.process, person.name, IMPOSSIBLE)
    person.played(*(play(podcast, EPISODE, 7) for podcast in (IMPOSSIBLE, A)))
    names = {"podcast": IMPOSSIBLE, "episode": EPISODE}
    app, favorite = person.app(), {"set": {"is_favorite": True}}
    ok(app.post(person.settings("episode"), params=names, json=favorite))
    for path in (
        person.changes(),
        f"/api/2/updates/{person.name}/phone.json",
        *(f"/subscriptions/{person.name}{device}.{ending}"
          for device in ("", "/phone") for ending in ("json", "opml", "txt")),
        f"{NEXTCLOUD}/subscriptions",
    ):  # fmt: skip
        reply = person.app().get(path)
        assert reply.status_code == 200
        assert A in reply.text
        assert IMPOSSIBLE not in reply.text
    for path in (person.episodes, f"{NEXTCLOUD}/episode_action"):
        assert [action["podcast"] for action in ok(person.app().get(path))["actions"]] == [A]
    assert ok(person.app().get(f"/api/2/favorites/{person.name}.json")) == []
    person.put([B])
    assert person.subscribed() == {B, IMPOSSIBLE}


def test_an_app_that_took_https_over_from_a_redirect_is_not_sent_back_to_http(person):
    add(person, HTTP_A)
    gpodder = person.app()
    assert person.push("desk", gpodder, [f"{A}/"], [HTTP_A])["update_urls"] == []
    assert ok(gpodder.get(f"/subscriptions/{person.name}/desk.json")) == [HTTP_A]
    person.push("desk", gpodder, remove=[f"{A}/"])
    assert person.subscribed() == set()


def test_an_app_that_takes_the_urls_it_is_told_unsubscribes_from_a_feed_that_moved(person):
    """gPodder gives its podcast the URL that it is told in `update_urls`."""
    add(person, A)
    move(person, A, B)
    gpodder = person.app()
    told = person.push("desk", gpodder, [A])
    person.push("desk", gpodder, remove=[dict(told["update_urls"]).get(A, A)])
    assert person.subscribed() == set()


def test_an_unsubscription_reaches_a_device_that_has_the_feed_in_another_spelling(person):
    """AntennaPod removes a podcast by the exact text of its URL, and ignores `update_urls`."""
    add(person, A)
    app = person.app()
    for number, spelling in enumerate((HTTP_A, f"{A}/", f"{HTTP_A}/")):
        device = f"phone{number}"
        since = person.push(device, app, [spelling])["timestamp"]
        change(person, A, is_subscribed=False)
        assert spelling in person.pull(device, app, since=since)["remove"]


def test_apps_that_are_told_of_a_move_and_of_the_way_back_end_with_the_url_of_the_start(person):
    async def move_and_tell(old, new, service):
        account, author = await service.accounts.named(person.name), Author(CredentialKind.COMMAND)
        await service.url_lists.move(account.id, old, new, author, notify_apps=True)

    add(person, A)
    app = person.app()
    has, since = {A}, person.pull(app=app)["timestamp"]
    for old, new in ((A, B), (B, A), (A, B)):
        person.process.use(partial(move_and_tell, old, new))
        told = person.pull(app=app, since=since)
        assert both(told) == ([new], usual_spellings(old))
        has, since = (has | {new}) - set(told["remove"]), told["timestamp"]
    assert has == {B}


def test_who_begins_after_a_move_gets_the_new_url_and_clears_a_double_away(person):
    add(person, A)
    move(person, A, B)
    tablet = person.app()
    assert both(person.pull("tablet", tablet, since=0)) == ([B], [])
    person.push("tablet", tablet, [A])  # it was on the tablet already
    person.push("tablet", tablet, remove=[A])
    assert person.subscribed() == {B}
    person.push("tablet", tablet, remove=[B])
    assert person.subscribed() == set()


def test_who_has_a_feed_by_its_old_url_alone_unsubscribes_by_it_and_all_others_hear(person):
    add(person, A)
    other = person.app()
    since = person.pull("laptop", other, since=0)["timestamp"]
    move(person, A, B)
    person.push(remove=[A])
    assert person.subscribed() == set()
    told = person.pull("laptop", other, since=since)
    assert told["add"] == []
    assert set(told["remove"]) == {*usual_spellings(A), *usual_spellings(B)}


def test_a_first_sync_that_is_tried_again_has_nothing_to_remove_either(person):
    """Feeds on a phone are its owner's; removing them would delete their files."""
    add(person, A, B)
    person.push(remove=[B])
    phone = person.app()
    for _ in range(2):  # the first reply was lost
        told = person.pull(app=phone, since=0)
        assert both(told) == ([A], [])
    assert both(person.pull(app=phone, since=told["timestamp"])) == ([], [])


def test_actions_of_a_podcast_that_moved_are_about_one_episode_by_either_url(person):
    add(person, A)
    app = person.app()
    sooner = {"device": "phone", "timestamp": "2026-11-01T10:00:00"}
    person.played(play(HTTP_A, EPISODE, 100, **sooner), app=app)
    assert [action["podcast"] for action in person.actions()] == [A]
    move(person, A, B)
    assert [action["podcast"] for action in person.actions()] == [B]
    later = play(B, EPISODE, 900, device="desk", timestamp="2026-11-02T10:00:00")
    del later["total"]  # which the phone has told
    person.played(later, app=app)
    (last,) = person.actions(app, aggregated="true")
    assert (last["podcast"], last["position"], last["total"]) == (B, 900, 3600)
    for podcast in (A, B):
        told = person.actions(app, podcast=podcast)
        assert [action["position"] for action in told] == [900]


@pytest.mark.parametrize("is_late", [False, True])
def test_what_was_played_of_two_feeds_that_become_one_is_one_position(person, is_late):
    """Kasts would go where the last play of a reply says."""
    add(person, A, B)
    app = person.app()
    newer = play(A, EPISODE, 900, device="phone", timestamp="2026-11-02T10:00:00")
    older = play(B, EPISODE, 50, device="desk", timestamp="2026-11-01T10:00:00")
    person.played(*([newer] if is_late else [newer, older]), app=app)
    since = ok(app.get(person.episodes))["timestamp"]
    change(person, A, new_guid=parse_feed_url(B).guid)
    if is_late:
        person.played(older, app=app)
    else:
        (again,) = person.actions(app, since=since)
        assert (again["podcast"], again["position"]) == (A, 900)
    for asked in ({}, {"podcast": A}, {"podcast": B}, {"aggregated": "true"}):
        told = person.actions(app, **asked)
        assert [(one["podcast"], one["position"]) for one in told] == [(A, 900)]


def test_apps_that_take_escapes_away_add_no_feed_twice_and_remove_the_feed_that_they_mean(person):
    letters = "https://b.example/caf%C3%A9%20au%20lait.xml"
    add(person, COLONS, letters, C)
    decoded = [unquote(url) for url in (COLONS, letters, C)]
    kasts = person.app()
    # White space is in no URL, so this one is no addition; "" makes gPodder drop it.
    told = person.push("kasts", kasts, decoded)
    assert told["update_urls"] == [[decoded[0], COLONS], [decoded[1], ""]]
    assert person.subscribed() == {COLONS, letters, C}
    person.push("kasts", kasts, remove=decoded[:2])
    assert person.subscribed() == {C}
    sent = {"subscriptions": [{"feed_url": url} for url in (COLONS, unquote(COLONS))]}
    ok(person.interface().post("/subscriptions", json=sent))
    assert person.subscribed() == {COLONS, unquote(COLONS), C}


def test_actions_of_apps_that_take_escapes_away_are_of_the_feed_that_they_mean(person):
    spaces, nowhere = "https://b.example/au%20lait.xml", "https://a.example/users:2/rss"
    add(person, COLONS, spaces)
    podcasts = [COLONS, unquote(COLONS), unquote(spaces), nowhere, "https://c.example/a b"]
    app = person.app()
    told = person.played(
        *(play(podcast, f"https://cdn.example/{n}.mp3", 10) for n, podcast in enumerate(podcasts)),
        app=app,
    )
    assert told["update_urls"] == [["https://c.example/a b", ""]]
    found = {action["episode"][-5]: action["podcast"] for action in person.actions(app)}
    assert found == {"0": COLONS, "1": COLONS, "2": spaces, "3": nowhere}


def test_action_without_escapes_is_of_a_feed_that_an_undo_restores(person):
    """Else apps would be sent only what was played before, and go back."""
    add(person, COLONS)
    app, api = person.app(), person.interface()
    person.played(play(COLONS, EPISODE, 10, timestamp="2026-11-01T10:00:00"), app=app)
    api.delete(f"/subscriptions/{parse_feed_url(COLONS).guid}")
    later = play(unquote(COLONS), EPISODE, 900, timestamp="2026-11-02T10:00:00")
    person.played(later, app=app)
    deleted = ok(api.get("/history"))["changes"][0]["stamp"]
    ok(api.post(f"/history/{deleted}/undo", json={}))
    (told,) = person.actions(app)
    assert (told["podcast"], told["position"]) == (COLONS, 900)
