"""What gpodder.net's API tells of podcasts: their titles, logos and web sites."""

from xml.etree import ElementTree as ET

import pytest
from known_feeds import know, picture, png
from people import Person, add, move, ok

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


def page(person: Person, url: str) -> str:
    return f"{person.process.base_url}/feeds/{parse_feed_url(url).guid}"


def of_unknown(person: Person, url: str) -> dict[str, object]:
    """Return what is sent of a podcast that was never read."""
    known: dict[str, object] = dict.fromkeys(("url", "feed", "title", "website"), url)
    numbers = {"subscribers": 0, "subscribers_last_week": 0}
    rest = {"description": "", "logo_url": None, "author": "", "mygpo_link": page(person, url)}
    return {**known, **numbers, **rest}


def by_url(podcasts: list[dict[str, object]]) -> dict[object, dict[str, object]]:
    return {podcast["url"]: podcast for podcast in podcasts}


def test_the_whole_list_and_updates_tell_what_is_known_of_each_podcast(listener):
    updates = f"/api/2/updates/{listener.name}/phone.json?since=0"
    for podcasts in (
        ok(listener.app().get(f"/subscriptions/{listener.name}.json")),
        ok(listener.app().get(updates))["add"],
    ):
        assert by_url(podcasts)[URL] == {**TOLD, "mygpo_link": page(listener, URL)}
        assert by_url(podcasts)[UNKNOWN] == of_unknown(listener, UNKNOWN)


def test_a_logo_that_is_no_address_of_the_web_is_none(listener):
    know(listener.process, URL, "Radio", picture_url="javascript:alert(1)", site_url="file:///x")
    listed = ok(listener.app().get(f"/subscriptions/{listener.name}.json"))
    assert (by_url(listed)[URL]["logo_url"], by_url(listed)[URL]["website"]) == (None, URL)


@pytest.mark.parametrize("path", ["", "/phone"])
def test_opml_has_titles_and_the_other_formats_are_as_they_were(listener, path):
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


def test_one_podcast_of_ones_own_is_told_by_any_of_its_urls(listener, other):
    path = "/api/2/data/podcast.json"
    told = {**TOLD, "mygpo_link": page(listener, URL)}
    assert ok(listener.app().get(path, params={"url": URL})) == told
    moved = "https://of-gpodder.example/moved"
    move(listener, UNKNOWN, moved)
    assert ok(listener.app().get(path, params={"url": UNKNOWN})) == of_unknown(listener, UNKNOWN)
    gone = "https://of-gpodder.example/gone"
    add(listener, gone)
    ok(listener.app().post(listener.changes(), json={"remove": [gone]}))
    for app, url in ((listener.app(), gone), (other.app(), URL), (other.app(), UNKNOWN)):
        assert app.get(path, params={"url": url}).status_code == 404
    assert listener.app().get(path, params={"url": "no URL"}).status_code == 400
    assert listener.app().get(path).status_code == 400
    assert listener.client().get(path, params={"url": URL}).status_code == 401


def test_favourites_are_the_episodes_whose_setting_says_so(listener, other):
    def set_up(podcast, episode, **body):
        path = f"/api/2/settings/{listener.name}/episode.json"
        ok(listener.app().post(path, params={"podcast": podcast, "episode": episode}, json=body))

    def listed(person=listener):
        found: list[dict[str, str]] = ok(person.app().get(f"/api/2/favorites/{person.name}.json"))
        return found

    first, second = "https://cdn.example/1.mp3", "https://cdn.example/2.mp3"
    set_up(UNKNOWN, second, set={"is_favorite": True})
    set_up(URL, first, set={"is_favorite": True, "speed": 1.5})
    set_up(URL, second, set={"is_favorite": False})
    set_up(URL, "https://cdn.example/3.mp3", set={"speed": 2})
    assert listed() == [
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
    assert listed(other) == []
    set_up(UNKNOWN, second, set={}, remove=["is_favorite"])
    set_up(URL, first, set={"is_favorite": False})
    assert listed() == []
    set_up(UNKNOWN, first, set={"is_favorite": True})
    opml = f'<opml><outline text="Of a file" xmlUrl="{UNKNOWN}"/></opml>'
    listener.process.must("import", listener.name, "-", stdin=opml)
    assert [(one["url"], one["podcast_title"]) for one in listed()] == [(first, "Of a file")]


def test_a_devices_list_is_urls_only(listener):
    listed = ok(listener.app().get(f"/subscriptions/{listener.name}/phone.json"))
    assert listed == [URL, UNKNOWN]
