"""A list of feeds as a page shows it: what each row says, which rows, in which order. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from enum import StrEnum
from urllib.parse import urlsplit

from feedkeep.model import Guid, Snapshot, Stamp, Subscription, Value

ROWS_ON_A_PAGE = 1_000
_COLOURS = 8
_MAX_WORDS = 10


class Order(StrEnum):
    """What a list is ordered by."""

    TITLE = "title"
    ADDED = "added"
    CHANGED = "changed"


class Row(Value, frozen=True):
    """A feed in a list.

    Attributes:
        guid: Its present guid.
        title: What it is called: until it was looked at, its address without the protocol.
        host: The host of its address.
        letter: What stands for its picture.
        colour: The number of the colour behind it, which all feeds of a host share.
        since: When it was subscribed to, or unsubscribed.
        changed: When anything of it changed last.
        is_subscribed: Whether the account is subscribed to it.
    """

    guid: Guid
    title: str
    host: str
    letter: str
    colour: int
    since: Stamp
    changed: Stamp
    is_subscribed: bool


class Listing(Value, frozen=True):
    """The rows of one page of a list.

    Attributes:
        rows: The rows.
        total: How many rows all pages have.
        page: The number of this page, from 1.
        pages: How many pages there are.
    """

    rows: Sequence[Row]
    total: int
    page: int
    pages: int


def row_of(subscription: Subscription) -> Row:
    """Return the row of a feed."""
    title, host = titled(subscription.feed_url)
    letter = next((letter for letter in title if letter.isalnum()), "?").upper()
    return Row(
        subscription.guid,
        title,
        host,
        letter[:1],
        zlib.crc32(host.encode(errors="replace")) % _COLOURS,
        subscription.status_changed,
        subscription.revision,
        subscription.is_subscribed,
    )


def titled(feed_url: str) -> tuple[str, str]:
    """Return the address of a feed as a person reads it, and its host."""
    _, _, rest = feed_url.partition("://")
    title = rest.removeprefix("www.").rstrip("/")
    try:
        host = urlsplit(feed_url).hostname or ""
    except ValueError:  # brackets that a feed URL may have and an address may not
        host = ""
    return title, host.removeprefix("www.")


def listing(
    snapshot: Snapshot, *, is_subscribed: bool, order: Order, words: str, page: int
) -> Listing:
    """Return a page of the feeds that an account is, or is not, subscribed to.

    Only those with all `words` in their title are listed. Deleted feeds never are.
    """
    rows = [
        row_of(entry)
        for entry in snapshot.entries.values()
        if isinstance(entry, Subscription)
        and entry.deleted is None
        and entry.is_subscribed == is_subscribed
    ]
    wanted = words.lower().split(maxsplit=_MAX_WORDS)[:_MAX_WORDS]
    rows = [row for row in rows if all(word in row.title.lower() for word in wanted)]
    match order:
        case Order.TITLE:
            rows.sort(key=lambda row: row.title.lower())
        case Order.ADDED:
            rows.sort(key=lambda row: -row.since)
        case Order.CHANGED:
            rows.sort(key=lambda row: -row.changed)
    pages = max(1, -(-len(rows) // ROWS_ON_A_PAGE))
    page = min(max(page, 1), pages)
    first = (page - 1) * ROWS_ON_A_PAGE
    return Listing(rows[first : first + ROWS_ON_A_PAGE], len(rows), page, pages)
