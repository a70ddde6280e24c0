"""What gpodder.net's API tells of podcasts: their titles, logos and web sites."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from known_feeds import know, picture, png
from people import Person, add, ok

URL = "https://of-gpodder.example/feed"
UNKNOWN = "https://of-gpodder.example/unknown"
TOLD = {
    "url": URL,
    "title": "Q & A <b>",
    "description": "All about radio",
    "subscribers": 0,
    "logo_url": "https://cdn.example/radio.jpg",
    "website": "https://radio.example/",
    "mygpo_link": "",
    "author": "Anna",
}


@pytest.fixture
def listener(person: Person) -> Person:
    """Somebody with two feeds, one of which is known."""
    know(
        person.process, URL, "Q & A <b>", shown=picture(png(1, 2, 3)), author="Anna",
        description="All about radio", site_url="https://radio.example/",
        picture_url="https://cdn.example/radio.jpg",
    )  # fmt: skip
    add(person, URL, UNKNOWN)
    return person


def by_url(podcasts: list[dict[str, object]]) -> dict[object, dict[str, object]]:
    return {podcast["url"]: podcast for podcast in podcasts}


def test_the_whole_list_and_updates_tell_what_is_known_of_each_podcast(listener: Person) -> None:
    updates = f"/api/2/updates/{listener.name}/phone.json?since=0"
    for podcasts in (
        ok(listener.app().get(f"/subscriptions/{listener.name}.json")),
        ok(listener.app().get(updates))["add"],
    ):
        assert by_url(podcasts)[URL] == TOLD
        assert by_url(podcasts)[UNKNOWN] == {
            **dict.fromkeys(TOLD, ""), "url": UNKNOWN, "title": UNKNOWN, "subscribers": 0,
            "logo_url": None,
        }  # fmt: skip


def test_a_logo_that_is_no_address_of_the_web_is_none(listener: Person) -> None:
    know(listener.process, URL, "Radio", picture_url="javascript:alert(1)", site_url="file:///x")
    listed = ok(listener.app().get(f"/subscriptions/{listener.name}.json"))
    assert (by_url(listed)[URL]["logo_url"], by_url(listed)[URL]["website"]) == (None, "")


@pytest.mark.parametrize("path", ["", "/phone"])
def test_opml_has_titles_and_the_other_formats_are_as_they_were(
    listener: Person, path: str
) -> None:
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


def test_a_devices_list_is_urls_only(listener: Person) -> None:
    listed = ok(listener.app().get(f"/subscriptions/{listener.name}/phone.json"))
    assert listed == [URL, UNKNOWN]
