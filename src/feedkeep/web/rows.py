"""A list of feeds as a page shows it: what each row says, which rows, in which order. Pure."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from urllib.parse import urlencode

from feedkeep.http.pages.forms import read_number
from feedkeep.model import Fetch, Guid, Snapshot, Stamp, Subscription, Value
from feedkeep.rules.clock import DAY_US, later
from feedkeep.rules.duplicates import Pair
from feedkeep.rules.feed_labels import NO_LABELS, Labels
from feedkeep.rules.feed_names import (
    Headline,
    address_of,
    name_of,
    possible_duplicates,
    trouble_of,
)
from feedkeep.rules.feed_urls import is_for_apps
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.stream_safe import with_few_marks

ROWS_ON_A_PAGE = 800
"""With titles and pictures these are 370 KB, which a phone shows at once."""

SILENT_DAYS = 365
"""After how many days without a new episode a list says when the last one came."""

_UNKNOWN_LAST = float("inf")
_COLOURS = 8
_MAX_WORDS = 10
_MAX_FOLDED_CHARACTERS = 300
"""How much of a text is searched and sorted by if it has other letters than ASCII's."""

MAX_WORDS_CHARACTERS = 200
_DIGEST = re.compile(r"[0-9A-Za-z_-]+")
_DIGEST_CHARACTERS = 8


class Filter(StrEnum):
    """Which feeds of a list are shown."""

    SUBSCRIBED = ""
    UNSUBSCRIBED = "unsubscribed"
    FAILING = "failing"
    TWICE = "twice"


class Checking(Value, frozen=True):
    """How far the first look at feeds that were just added has come.

    Attributes:
        done: How many of them were looked at, whatever was found.
        total: How many there are.
    """

    done: int
    total: int


class Order(StrEnum):
    """What a list is ordered by."""

    TITLE = "title"
    ADDED = "added"
    CHANGED = "changed"
    EPISODE = "episode"
    SILENT = "silent"


class Row(Value, frozen=True):
    """A feed in a list.

    Attributes:
        guid: Its present guid.
        title: What it is called: its title, or else its address without the protocol.
        host: The host of its address; "" if the title tells it already.
        letter: What stands for its picture.
        colour: The number of the colour behind it, which all feeds of a host share.
        picture: The path of its picture; "" if there is none.
        since: When it was subscribed to, or unsubscribed.
        changed: When anything of it changed last.
        is_subscribed: Whether the account is subscribed to it.
        failing: Since when it cannot be read; None if it can, or failed only a short while ago.
        is_twice: Whether it may be in the list under another address, too.
        newest: When its newest episode was published; None if that is not known.
        is_silent: Whether that is more than `SILENT_DAYS` ago.
        is_withheld: Whether it is subscribed, and apps are not sent it.
    """

    guid: Guid
    title: str
    host: str
    letter: str
    colour: int
    picture: str
    since: Stamp
    changed: Stamp
    is_subscribed: bool
    failing: Stamp | None
    is_twice: bool
    newest: Stamp | None = None
    is_silent: bool = False
    is_withheld: bool = False


class Listing(Value, frozen=True):
    """The rows of one page of a list.

    Attributes:
        rows: The rows.
        total: How many rows all pages have.
        page: The number of this page, from 1.
        pages: How many pages there are.
        failing: How many feeds of the list cannot be read, whether they are shown or not.
        twice: How many feeds of the list may be in it twice.
    """

    rows: Sequence[Row]
    total: int
    page: int
    pages: int
    failing: int = 0
    twice: int = 0


def row_of(
    subscription: Subscription,
    known: Headline | None,
    now: Stamp,
    labels: Labels = NO_LABELS,
    *,
    is_twice: bool = False,
) -> Row:
    """Return the row of a feed."""
    address = address_of(subscription.feed_url)
    given = labels.title(subscription.feed_url, known.title if known else "")
    title = name_of(subscription.feed_url, given)
    letter = next((letter for letter in title if letter.isalnum()), "?").upper()
    trouble = trouble_of(known, now) if subscription.is_subscribed else None
    newest = known.newest if known else None
    return Row(
        subscription.guid,
        title,
        address.host if given else "",
        letter[:1],
        zlib.crc32(address.host.encode(errors="replace")) % _COLOURS,
        picture_path(known),
        subscription.status_changed,
        subscription.revision,
        subscription.is_subscribed,
        trouble.since if trouble else None,
        is_twice,
        newest,
        newest is not None and newest < later(now, -SILENT_DAYS * DAY_US),
        subscription.is_subscribed and not is_for_apps(subscription.feed_url),
    )


def picture_path(known: Headline | None) -> str:
    """Return the path of a feed's picture, another one for another picture; "" if it has none."""
    if known is None or not _DIGEST.fullmatch(known.picture):
        return ""
    return f"/pictures/{known.guid}?{known.picture[:_DIGEST_CHARACTERS]}"


def listing(
    snapshot: Snapshot,
    known: Mapping[str, Headline],
    now: Stamp,
    *,
    apart: Collection[Pair],
    labels: Labels = NO_LABELS,
    show: Filter,
    order: Order,
    words: str,
    page: int,
) -> Listing:
    """Return a page of the feeds of an account; `known` has what is known of them, by their URLs.

    Those that its owner keeps `apart` are not taken for the same. Only feeds with all `words` in
    title and host are listed. Deleted feeds never are.
    """
    feeds = live(snapshot)
    twice = {guid for group in possible_duplicates(feeds, known, apart) for guid in group}
    rows = [
        row_of(feed, known.get(feed.feed_url), now, labels, is_twice=feed.guid in twice)
        for feed in feeds
    ]
    failing = sum(row.failing is not None for row in rows)
    wanted = folded(words).split(maxsplit=_MAX_WORDS)[:_MAX_WORDS]
    rows = [row for row in rows if _is_shown(row, show) and _has(row, wanted)]
    match order:
        case Order.TITLE:
            rows.sort(key=lambda row: folded(row.title))
        case Order.ADDED:
            rows.sort(key=lambda row: -row.since)
        case Order.CHANGED:
            rows.sort(key=lambda row: -row.changed)
        case Order.EPISODE:
            rows.sort(key=lambda row: _UNKNOWN_LAST if row.newest is None else -row.newest)
        case Order.SILENT:
            rows.sort(key=lambda row: _UNKNOWN_LAST if row.newest is None else row.newest)
    pages = max(1, -(-len(rows) // ROWS_ON_A_PAGE))
    page = min(max(page, 1), pages)
    first = (page - 1) * ROWS_ON_A_PAGE
    return Listing(
        rows[first : first + ROWS_ON_A_PAGE], len(rows), page, pages, failing, len(twice)
    )


def checking(
    feeds: Iterable[Subscription], known: Mapping[str, Headline], fetch: Fetch, now: Stamp
) -> Checking | None:
    """Return how far the look at the feeds has come that were added since yesterday.

    None if nothing is awaited. Feeds that have waited for longer are no news, whatever is wrong.
    """
    yesterday = later(now, -DAY_US)
    added = [
        feed.feed_url
        for feed in feeds
        if feed.is_subscribed and feed.first_had > yesterday and may_look_at(feed.feed_url, fetch)
    ]
    done = sum(url in known and known[url].is_looked_at for url in added)
    return Checking(done, len(added)) if done < len(added) else None


def live(snapshot: Snapshot) -> list[Subscription]:
    """Return the feeds of a whole account, also those that it is not subscribed to any more."""
    return [
        entry
        for entry in snapshot.entries.values()
        if isinstance(entry, Subscription) and entry.deleted is None
    ]


def _is_shown(row: Row, show: Filter) -> bool:
    match show:
        case Filter.SUBSCRIBED:
            return row.is_subscribed
        case Filter.UNSUBSCRIBED:
            return not row.is_subscribed
        case Filter.FAILING:
            return row.failing is not None
        case Filter.TWICE:
            return row.is_twice


def _has(row: Row, words: Sequence[str]) -> bool:
    if not words:
        return True
    text = folded(f"{row.title} {row.host}")
    return all(word in text for word in words)


def folded(text: str) -> str:
    """Return a text without capitals and accents: what is searched for and sorted by."""
    if text.isascii():
        return text.lower()
    cut = with_few_marks(text[:_MAX_FOLDED_CHARACTERS])
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", cut).casefold())
    return "".join(part for part in parts if not unicodedata.category(part).startswith("M"))


def view_of(value_of: Callable[[str], str]) -> list[tuple[str, str]]:
    """Return what of a list is shown and how, as an address or a form says it."""
    show, order, page = (value_of(name) for name in ("show", "order", "page"))
    view = {
        "show": show if show in set(Filter) else "",
        "order": order if order in set(Order) else "",
        "q": value_of("q")[:MAX_WORDS_CHARACTERS],
        "page": page if read_number(page) else "",
    }
    return [(name, value) for name, value in view.items() if value]


def place_of(value_of: Callable[[str], str]) -> str:
    """Return where the same part of the list is shown again."""
    view = view_of(value_of)
    return f"/?{urlencode(view)}" if view else "/"
