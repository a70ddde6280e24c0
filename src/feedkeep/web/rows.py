"""View of a list of feeds: rows, filters, order and pages. Pure."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from heapq import nsmallest
from itertools import accumulate, groupby
from typing import TypeAlias
from urllib.parse import urlencode

from feedkeep.http.pages.forms import read_number
from feedkeep.model import Fetch, Guid, Snapshot, Stamp, Subscription, Value
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.duplicates import Pair
from feedkeep.rules.feed_labels import (
    NO_LABELS,
    Labels,
    folder_names,
    is_within,
    typed_folder,
    with_outer,
)
from feedkeep.rules.feed_names import (
    Headline,
    address_of,
    name_of,
    possible_duplicates,
    trouble_of,
)
from feedkeep.rules.feed_urls import is_for_apps
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.text_limits import with_few_marks

ROWS_ON_A_PAGE = 800
"""About 370 KB with titles and pictures, which a phone renders without delay."""

SILENT_DAYS = 365
"""Days without a new episode after which a row shows the date of the last one."""

_UNKNOWN_LAST = float("inf")
_COLOURS = 8
_MAX_WORDS = 10
_MAX_FOLDED_CHARACTERS = 300
"""Length to which non-ASCII texts are truncated for search and sorting."""

MAX_WORDS_CHARACTERS = 200

FOLDERS_SHOWN = 200
"""Maximum number of folders offered in forms; the groups of a list show all."""

NO_FOLDER = "/"
"""Stands for "in no folder" in a view; no folder has this name."""

_FolderKey: TypeAlias = tuple[Sequence[str], str]
_NO_KEY: _FolderKey = ((), "")

_BETWEEN, _GRID = ".", "grid"
_DIGEST = re.compile(r"[0-9A-Za-z_-]+")
_DIGEST_CHARACTERS = 8


class Filter(StrEnum):
    """Subset of a list to show."""

    SUBSCRIBED = ""
    UNSUBSCRIBED = "unsubscribed"
    FAILING = "failing"
    TWICE = "twice"


class Checking(Value, frozen=True):
    """Progress of the first fetches of newly added feeds.

    Attributes:
        done: Number of fetched feeds, failures included.
    """

    done: int
    total: int


class Order(StrEnum):
    """Sort order of a list; `FOLDER` groups it, by title in each folder."""

    FOLDER = "folder"
    TITLE = "title"
    ADDED = "added"
    CHANGED = "changed"
    EPISODE = "episode"
    SILENT = "silent"


class Look(Value, frozen=True):
    """How a browser shows the list.

    Attributes:
        order: None for the default, which depends on the list.
        is_grid: Whether pictures are large and beside each other.
    """

    order: Order | None = None
    is_grid: bool = False


class Row(Value, frozen=True):
    """A feed in a list.

    Attributes:
        title: Title, or else the address without its protocol.
        host: Host of the address; "" if the title shows it already.
        episode: Title of the newest episode; "" if unknown, or the feed is unsubscribed.
        letter: Letter shown in place of a missing picture.
        colour: Number of the colour behind the letter, the same for all feeds of a host.
        picture: Path of the picture; "" without one.
        since: Time of the last subscribe or unsubscribe.
        changed: Time of the last change of any kind.
        failing: Start of the current failure; None if the feed is readable or failed only recently.
        is_twice: Whether the list may have the feed under another address, too.
        newest: Publication time of the newest episode; None if unknown.
        is_silent: Whether `newest` is more than `SILENT_DAYS` ago.
        is_withheld: Whether the feed is subscribed but not sent to apps.
        folder: "" without one.
    """

    guid: Guid
    title: str
    host: str
    episode: str
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
    folder: str = ""


class Group(Value, frozen=True):
    """Successive rows of a page: all of them, or the rows of one folder.

    Attributes:
        folder: "" for feeds without a folder; None if the page is not grouped.
        total: Number of rows of the folder on all pages.
        first: Index of the first row on the page.
    """

    folder: str | None
    rows: Sequence[Row]
    total: int
    first: int = 0

    def numbered(self) -> Iterable[tuple[int, Row]]:
        """Return the rows with their indices on the page."""
        return enumerate(self.rows, self.first)


class Listing(Value, frozen=True):
    """One page of a list.

    Attributes:
        order: The order of the rows.
        folders: The folders of the list with their outer folders, sorted; at most `FOLDERS_SHOWN`.
        total: Number of rows on all pages.
        page: Number of this page, from 1.
        failing: Number of unreadable feeds in the list, shown or not.
        twice: Number of possible duplicates in the list, shown or not.
    """

    groups: Sequence[Group]
    order: Order
    folders: Sequence[str]
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
    """Return a feed's row; `known` is its fetched data, if any."""
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
        known.newest_title if known and subscription.is_subscribed else "",
        letter[:1],
        zlib.crc32(address.host.encode(errors="replace")) % _COLOURS,
        picture_path(known),
        subscription.status_changed,
        subscription.revision,
        subscription.is_subscribed,
        trouble.since if trouble else None,
        is_twice,
        newest,
        newest is not None and newest < shift(now, -SILENT_DAYS * DAY_US),
        subscription.is_subscribed and not is_for_apps(subscription.feed_url),
        labels.folder(subscription.feed_url),
    )


def picture_path(known: Headline | None) -> str:
    """Return the path of a feed's picture, which changes with the picture; "" without one."""
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
    order: Order | None,
    words: str,
    page: int,
    folder: str = "",
) -> Listing:
    """Return one page of an account's feeds, without deleted feeds.

    `known` has fetched data by feed URL, and `apart` pairs that are not duplicates according to
    the owner. `words` are search terms, each of which must occur in a row's texts. Without an
    `order`, a list with folders is grouped by folder. With a `folder`, only the feeds in it and in
    its inner folders are shown.
    """
    feeds = live(snapshot)
    twice = {guid for group in possible_duplicates(feeds, known, apart) for guid in group}
    rows = [
        row_of(feed, known.get(feed.feed_url), now, labels, is_twice=feed.guid in twice)
        for feed in feeds
    ]
    failing = sum(row.failing is not None for row in rows)
    wanted = folded(words).split(maxsplit=_MAX_WORDS)[:_MAX_WORDS]
    keys = _folder_keys(row.folder for row in rows)
    folders = _first_folders(keys)
    rows = [
        row for row in rows if _is_shown(row, show) and _is_in(row, folder) and _has(row, wanted)
    ]
    order = order or (Order.FOLDER if any(row.folder for row in rows) else Order.TITLE)
    match order:
        case Order.FOLDER:
            rows.sort(key=lambda row: folded(row.title))
            rows.sort(key=lambda row: (not row.folder, keys.get(row.folder, _NO_KEY)))
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
    shown = rows[first : first + ROWS_ON_A_PAGE]
    groups = _grouped(shown, rows) if order is Order.FOLDER else [Group(None, shown, len(rows))]
    if folder not in ("", NO_FOLDER, *folders):
        folders = [folder, *folders]
    return Listing(groups, order, folders, len(rows), page, pages, failing, len(twice))


def folders_of(used: Iterable[str]) -> list[str]:
    """Return the first `FOLDERS_SHOWN` of these folders and their outer folders."""
    return _first_folders(_folder_keys(used))


def _first_folders(keys: Mapping[str, _FolderKey]) -> list[str]:
    return nsmallest(FOLDERS_SHOWN, keys, key=keys.__getitem__)


def _folder_keys(used: Iterable[str]) -> dict[str, _FolderKey]:
    """Return the sort keys of folders and their outer folders, which come before inner ones.

    Each folder is folded once, with all its levels: a list can have ten thousand folders.
    """
    keys: dict[str, _FolderKey] = {}
    for folder in set(used):
        names = folded("\0".join(folder_names(folder))).split("\0")
        for level, outer in enumerate(with_outer(folder), 1):
            keys[outer] = names[:level], outer
    return keys


def _grouped(shown: Sequence[Row], rows: Iterable[Row]) -> list[Group]:
    totals = Counter(row.folder for row in rows)
    groups = [(folder, list(some)) for folder, some in groupby(shown, lambda row: row.folder)]
    firsts = accumulate((len(some) for _, some in groups), initial=0)
    return [
        Group(folder, some, totals[folder], first)
        for (folder, some), first in zip(groups, firsts, strict=False)
    ]


def _is_in(row: Row, folder: str) -> bool:
    if folder == NO_FOLDER:
        return not row.folder
    return not folder or is_within(row.folder, folder)


def checking(
    feeds: Iterable[Subscription], known: Mapping[str, Headline], fetch: Fetch, now: Stamp
) -> Checking | None:
    """Return the progress of fetching the feeds added within a day; None if all were fetched.

    Feeds that have waited longer are excluded, whatever the reason.
    """
    yesterday = shift(now, -DAY_US)
    added = [
        feed.feed_url
        for feed in feeds
        if feed.is_subscribed and feed.first_had > yesterday and may_look_at(feed.feed_url, fetch)
    ]
    done = sum(url in known and known[url].is_looked_at for url in added)
    return Checking(done, len(added)) if done < len(added) else None


def live(snapshot: Snapshot) -> list[Subscription]:
    """Return an account's feeds, unsubscribed feeds included, deleted feeds excluded."""
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
    text = folded(f"{row.title} {row.host} {row.episode}")
    return all(word in text for word in words)


def folded(text: str) -> str:
    """Return a text in lower case and without accents, for search and sorting."""
    if text.isascii():
        return text.lower()
    cut = with_few_marks(text[:_MAX_FOLDED_CHARACTERS])
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", cut).casefold())
    for part in set(parts):  # few are different
        if unicodedata.category(part).startswith("M"):
            parts = parts.replace(part, "")
    return parts


def view_of(value_of: Callable[[str], str]) -> list[tuple[str, str]]:
    """Return the valid view parameters of a query or form: filters, order, search and page."""
    show, order, page = (value_of(name) for name in ("show", "order", "page"))
    view = {
        "show": show if show in set(Filter) else "",
        "folder": view_folder(value_of("folder")),
        "order": order if order in set(Order) else "",
        "q": value_of("q")[:MAX_WORDS_CHARACTERS],
        "page": page if read_number(page) else "",
    }
    return [(name, value) for name, value in view.items() if value]


def look_of(value_of: Callable[[str], str], remembered: str) -> Look:
    """Return the look that a query or form asks for, or else the `remembered` look of a cookie."""
    order, _, view = remembered.partition(_BETWEEN)
    order, view = value_of("order") or order, value_of("view") or view
    return Look(Order(order) if order in set(Order) else None, view == _GRID)


def look_text(look: Look) -> str:
    """Return a look as the value of a cookie."""
    return f"{look.order or ''}{_BETWEEN}{_GRID if look.is_grid else ''}"


def view_folder(text: str) -> str:
    """Return the folder of a view; "" means all feeds."""
    return NO_FOLDER if text == NO_FOLDER else typed_folder(text)


def place_of(value_of: Callable[[str], str]) -> str:
    """Return the path of the list with the view parameters of a query or form."""
    view = view_of(value_of)
    return f"/?{urlencode(view)}" if view else "/"
