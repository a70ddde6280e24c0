"""What a row of a list says, and what a preview of an import counts; as pure functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.model import Counts, Guid, Pointer, Snapshot, Stamp, Subscription
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.web.imports import preview_of
from feedkeep.web.rows import ROWS_ON_A_PAGE, Order, listing, row_of, titled


def feed(url: str, is_subscribed: bool = True, stamp: int = 1) -> Subscription:
    changed = Stamp(stamp)
    return Subscription(
        parse_feed_url(url).guid, url, is_subscribed, changed, status_changed=changed
    )


def snapshot(*entries: Subscription | Pointer) -> Snapshot:
    return Snapshot({entry.guid: entry for entry in entries}, Stamp(9), Stamp(9), Counts())


@pytest.mark.parametrize(
    ("url", "title", "host", "letter"),
    [
        ("https://www.a.example/feed/", "a.example/feed", "a.example", "A"),
        ("HTTP://B.example:8080/x?y", "B.example:8080/x?y", "b.example", "B"),
        ("https://user@c.example", "user@c.example", "c.example", "U"),
        ("https://[::1]/feed", "[::1]/feed", "::1", "1"),
        ("https://ünï.example", "ünï.example", "ünï.example", "Ü"),
        ("https://ß.example", "ß.example", "ß.example", "S"),
        ("https://...", "...", "...", "?"),
    ],
)
def test_a_row_is_called_by_its_address_and_has_the_first_letter(
    url: str, title: str, host: str, letter: str
) -> None:
    row = row_of(feed(url))
    assert (row.title, row.host, row.letter) == (title, host, letter)


def test_all_feeds_of_a_host_have_one_colour() -> None:
    colours = {row_of(feed(f"https://{www}a.example/{n}")).colour
               for www in ("", "www.") for n in range(5)}  # fmt: skip
    assert len(colours) == 1
    assert len({row_of(feed(f"https://{n}.example")).colour for n in range(50)}) > 4


@given(st.text(max_size=50))
def test_whatever_an_address_is_it_has_a_title(text: str) -> None:
    assert titled(f"https://{text}") is not None


def test_a_long_list_has_pages_and_the_last_one_is_the_last() -> None:
    feeds = [feed(f"https://{n:05}.example", stamp=n) for n in range(ROWS_ON_A_PAGE + 1)]
    whole = snapshot(*feeds)

    def page(number: int) -> tuple[int, int, int]:
        found = listing(whole, is_subscribed=True, order=Order.TITLE, words="", page=number)
        return len(found.rows), found.page, found.pages

    assert page(0) == page(1) == (ROWS_ON_A_PAGE, 1, 2)
    assert page(2) == page(7) == (1, 2, 2)
    newest = listing(whole, is_subscribed=True, order=Order.ADDED, words="", page=1)
    assert newest.rows[0].since == ROWS_ON_A_PAGE


def test_a_preview_tells_new_known_and_refused_apart_and_counts_a_feed_once() -> None:
    old = Guid("00000000-0000-4000-8000-000000000001")
    known, gone = feed("https://known.example"), feed("https://gone.example", is_subscribed=False)
    whole = snapshot(known, gone, Pointer(old, known.guid, Stamp(1)))
    sent = [
        ("https://known.example/", None),  # the same feed
        ("https://gone.example", None),
        ("https://new.example", None),
        ("http://new.example#x", None),  # twice in the file
        ("https://renamed.example", old),
        ("ftp://x", None),
        ("https://y.example", "no guid"),
    ]
    feeds = [ListedFeed(n, url, guid) for n, (url, guid) in enumerate(sent)]
    preview = preview_of(whole, feeds)
    assert [feed.feed_url for feed in preview.new] == [
        "https://gone.example", "https://new.example",
    ]  # fmt: skip
    assert [feed.number for feed in preview.known] == [0, 3, 4]
    assert [(str(place), url) for place, url, _ in preview.refused] == [
        ("line 5", "ftp://x"), ("line 6", "https://y.example"),
    ]  # fmt: skip
