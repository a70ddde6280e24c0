"""Contract, section 10: GET /subscriptions/{guid}/feed."""

import httpx
from asking import delete, entries, get, patch, told
from known_feeds import DAY_US, know, picture, png
from names import G1, G2, UNKNOWN, derived

from feedkeep.model import Failure, Sighting, Stamp

FEED = "https://of-the-interface.example/feed"
MOVED = "https://of-the-interface.example/moved"
JUST_NOW = Stamp(1_790_000_000_000_000)
SAID = {
    "description": "All about radio",
    "site_url": "https://radio.example/",
    "picture_url": "https://cdn.example/radio.jpg",
    "language": "de-AT",
    "author": "Anna & Ben",
    "podcast_guid": G1,
}


def feed(api, guid, **headers):
    return api.get(f"/subscriptions/{guid}/feed", headers=headers)


# C10.1, C10.2, C10.4, C10.8
def test_a_feed_is_told_as_it_tells_of_itself(api, add, feedkeep):
    fields = {"answered": JUST_NOW}
    added = add(FEED)
    know(feedkeep, FEED, "The Night Radio", shown=picture(png(1, 2, 3)), fields=fields, **SAID)
    for prefix in ("", "/v1"):
        reply = api.get(f"{prefix}/subscriptions/{derived(FEED)}/feed")
        assert reply.json() == {
            "title": "The Night Radio", **SAID, "last_fetched": "2026-09-21T14:13:20.000000Z",
        }  # fmt: skip
    (listed,) = entries(api)
    four = {"feed_url", "guid", "is_subscribed", "subscription_changed"}
    assert set(added) == set(listed) == set(get(api, derived(FEED))) == four
    known = {"If-None-Match": reply.headers["ETag"]}
    assert feed(api, derived(FEED), **known).status_code == 304
    know(feedkeep, FEED, "Another title")
    assert told(feed(api, derived(FEED), **known))["title"] == "Another title"


# C10.3, C10.8, C10.9
def test_a_feed_that_fails_tells_since_when_and_what_was_known_before(api, add, feedkeep):
    add("https://never-looked-at.example")
    assert told(feed(api, derived("https://never-looked-at.example"))) == {}
    fields = {
        "answered": Stamp(JUST_NOW - DAY_US), "failing": JUST_NOW, "failures": 1,
        "failure": Failure.NOT_FOUND, "reason": "a stranger's words",
    }  # fmt: skip
    add(FEED)
    know(feedkeep, FEED, "Radio", fields=fields)
    assert feed(api, derived(FEED)).json() == {
        "title": "Radio",
        "last_fetched": "2026-09-20T14:13:20.000000Z",
        "failing_since": "2026-09-21T14:13:20.000000Z",
    }
    know(feedkeep, FEED, fields={**fields, "answered": None})
    assert feed(api, derived(FEED)).json() == {"failing_since": "2026-09-21T14:13:20.000000Z"}


# C10.10
def test_where_a_feed_says_that_it_moved_is_told(api, add, feedkeep):
    know(feedkeep, FEED, "Radio", new_feed_url=MOVED)
    add(FEED)
    assert feed(api, derived(FEED)).json()["moved_to"] == MOVED
    seen = Sighting(f"{MOVED}/2", JUST_NOW, JUST_NOW)
    know(feedkeep, FEED, "Radio", fields={"sighting": seen})
    assert feed(api, derived(FEED)).json()["moved_to"] == f"{MOVED}/2"


# C10.5, C10.6
def test_the_words_of_a_hostile_feed_are_one_line_and_bounded(api, add, feedkeep):
    evil = "\u202e<b>\x1b[31m\nx" + "W" * 5_000
    know(
        feedkeep, FEED, evil, description=evil, author=evil, language=evil,
        site_url="javascript:alert(1)", picture_url="file:///etc/passwd", new_feed_url="//x",
    )  # fmt: skip
    add(FEED)
    shown = told(feed(api, derived(FEED)))
    assert {name: len(text) for name, text in shown.items() if name != "last_fetched"} == {
        "title": 200, "description": 2_000, "author": 200, "language": 35,
    }  # fmt: skip
    assert shown["title"].startswith("<b> [31m xWWW")


# C10.4
def test_any_guid_leads_to_the_feed_of_its_subscription_until_that_is_deleted(api, add, feedkeep):
    know(feedkeep, FEED, "Radio")
    know(feedkeep, MOVED, "Radio, elsewhere")
    assert feed(api, derived(FEED)).status_code == 404  # although another account may have it
    add((FEED, G1))
    patch(api, G1, new_guid=G2, is_subscribed=False)
    titles = [told(feed(api, guid))["title"] for guid in (G1, G2, derived(FEED))]
    assert titles == ["Radio"] * 3
    patch(api, G2, new_feed_url=MOVED)
    assert told(feed(api, G1.upper()))["title"] == "Radio, elsewhere"
    with feedkeep.client(feedkeep.new_account()) as other:
        assert feed(other, G2).status_code == 404
    delete(api, G2)
    statuses = {G1: 410, G2: 410, derived(FEED): 410, UNKNOWN: 404, "x": 405}
    assert {guid: feed(api, guid).status_code for guid in statuses} == statuses
    assert httpx.get(f"{feedkeep.base_url}/subscriptions/{UNKNOWN}/feed").status_code == 401


# C10.12
def test_feeds_with_one_podcast_guid_are_neither_merged_nor_renamed(api, add, feedkeep):
    third = "https://of-the-interface.example/third"
    for url in (FEED, MOVED, third):
        know(feedkeep, url, "Radio", podcast_guid=G1)
    add(FEED, (third, G1))
    add(MOVED)
    guids = {FEED: derived(FEED), third: G1, MOVED: derived(MOVED)}
    for url, guid in guids.items():
        assert feed(api, guid).json()["podcast_guid"] == G1
        assert get(api, guid)["feed_url"] == url
    assert "new_guid" not in get(api, derived(FEED))
    assert {entry["feed_url"]: entry["guid"] for entry in entries(api)} == guids
