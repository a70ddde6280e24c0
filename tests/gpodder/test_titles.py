"""Podcast titles, logos and web sites in gpodder.net's API."""

from xml.etree import ElementTree as ET

import pytest
from known_feeds import know, picture, png
from people import add, move, ok

from feedkeep.rules.feed_urls import parse_feed_url

URL = "https://of-gpodder.example/feed"
UNKNOWN = "https://of-gpodder.example/unknown"
TOLD = {
    "url": URL,
    "feed": URL,
    "title": "Q & A <b>",
    "description": "All about radio",
    "subscribers": 0,
    "subscribers_last_week": 0,
    "logo_url": "https://cdn.example/radio.jpg",
    "website": "https://radio.example/",
    "author": "Anna",
}


@pytest.fixture
def listener(person):
    """A person with two feeds, one of which is known."""
    know(
        person.process, URL, "Q & A <b>", shown=picture(png(1, 2, 3)), author="Anna",
        description="All about radio", site_url="https://radio.example/",
        picture_url="https://cdn.example/radio.jpg",
    )  # fmt: skip
    add(person, URL, UNKNOWN)
    return person


def page(person, url):
    return f"{person.process.base_url}/feeds/{parse_feed_url(url).guid}"


def of_unknown(person, url):
    """Return the data that are sent of a podcast that was never fetched."""
    known = dict.fromkeys(("url", "feed", "title", "website"), url)
    numbers = {"subscribers": 0, "subscribers_last_week": 0}
    rest = {"description": "", "logo_url": None, "author": "", "mygpo_link": page(person, url)}
    return {**known, **numbers, **rest}


def listed(person):
    podcasts = ok(person.app().get(f"/subscriptions/{person.name}.json"))
    return {podcast["url"]: podcast for podcast in podcasts}


def test_the_whole_list_and_updates_tell_what_is_known_of_each_podcast(listener):
    updates = ok(listener.app().get(f"/api/2/updates/{listener.name}/phone.json?since=0"))
    for podcasts in (listed(listener), {podcast["url"]: podcast for podcast in updates["add"]}):
        assert podcasts[URL] == {**TOLD, "mygpo_link": page(listener, URL)}
        assert podcasts[UNKNOWN] == of_unknown(listener, UNKNOWN)
    know(listener.process, URL, "Radio", picture_url="javascript:alert(1)", site_url="file:///x")
    shown = listed(listener)[URL]
    assert (shown["logo_url"], shown["website"]) == (None, URL)  # which are no addresses of the web


def test_opml_has_titles_and_the_other_formats_are_urls_only(listener):
    for path in ("", "/phone"):
        whole = f"/subscriptions/{listener.name}{path}"
        written = listener.app().get(f"{whole}.opml").text
        outlines = ET.fromstring(written).iter("outline")  # noqa: S314 - we wrote it
        assert [outline.attrib for outline in outlines] == [
            {
                "type": "rss", "text": "Q & A <b>", "title": "Q & A <b>", "xmlUrl": URL,
                "htmlUrl": "https://radio.example/", "description": "All about radio",
            },
            {"type": "rss", "text": UNKNOWN, "xmlUrl": UNKNOWN},
        ]  # fmt: skip
        assert listener.app().get(f"{whole}.txt").text.split() == [URL, UNKNOWN]
    assert ok(listener.app().get(f"{whole}.json")) == [URL, UNKNOWN]


def test_one_podcast_of_ones_own_is_told_by_any_of_its_urls(listener, other):
    path = "/api/2/data/podcast.json"
    told = {**TOLD, "mygpo_link": page(listener, URL)}
    assert ok(listener.app().get(path, params={"url": URL})) == told
    moved = "https://of-gpodder.example/moved"
    move(listener, UNKNOWN, moved)
    assert ok(listener.app().get(path, params={"url": UNKNOWN})) == of_unknown(listener, UNKNOWN)
    gone = "https://of-gpodder.example/gone"
    add(listener, gone)
    listener.push(remove=[gone])
    for app, url in ((listener.app(), gone), (other.app(), URL), (other.app(), UNKNOWN)):
        assert app.get(path, params={"url": url}).status_code == 404
    assert listener.app().get(path, params={"url": "no URL"}).status_code == 400
    assert listener.app().get(path).status_code == 400
    assert listener.client().get(path, params={"url": URL}).status_code == 401


def test_favourites_are_the_episodes_whose_setting_says_so(listener, other):
    def set_up(podcast, episode, **body):
        query = {"podcast": podcast, "episode": episode}
        ok(listener.app().post(listener.settings("episode"), params=query, json=body))

    def favourites(person=listener):
        return ok(person.app().get(f"/api/2/favorites/{person.name}.json"))

    first, second = "https://cdn.example/1.mp3", "https://cdn.example/2.mp3"
    set_up(UNKNOWN, second, set={"is_favorite": True})
    set_up(URL, first, set={"is_favorite": True, "speed": 1.5})
    set_up(URL, second, set={"is_favorite": False})
    set_up(URL, "https://cdn.example/3.mp3", set={"speed": 2})
    assert favourites() == [
        {
            "title": first, "url": first, "podcast_title": "Q & A <b>", "podcast_url": URL,
            "description": "", "website": "https://radio.example/", "released": "",
            "mygpo_link": page(listener, URL),
        },
        {
            "title": second, "url": second, "podcast_title": UNKNOWN, "podcast_url": UNKNOWN,
            "description": "", "website": UNKNOWN, "released": "",
            "mygpo_link": page(listener, UNKNOWN),
        },
    ]  # fmt: skip
    assert favourites(other) == []
    set_up(UNKNOWN, second, set={}, remove=["is_favorite"])
    set_up(URL, first, set={"is_favorite": False})
    assert favourites() == []
    set_up(UNKNOWN, first, set={"is_favorite": True})
    opml = f'<opml><outline text="Of a file" xmlUrl="{UNKNOWN}"/></opml>'
    listener.process.must("import", listener.name, "-", stdin=opml)
    assert [(one["url"], one["podcast_title"]) for one in favourites()] == [(first, "Of a file")]
