"""Changes of a list as a page shows them: a line for each request, and who sent it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from feedkeep.model import Author, CredentialKind, Guid, Stamp, Value
from feedkeep.rules.clock import later
from feedkeep.rules.feed_names import name_of
from feedkeep.rules.list_changes import ChangeKind, FeedChange
from feedkeep.rules.wipes import Wipe
from feedkeep.service.history import ListedChanges

FEEDS_OF_A_CHANGE = 200
"""How many feeds of a change a page shows; the others are counted."""

_FEEDS_ON_A_PAGE = 1_000
_MAX_SHOWN = 100
_VERSION = re.compile(r"\s*v?\d")
_LAST_PRODUCT = re.compile(r".*\s([^\s/()]+)/v?\d")


class ChangeRow(Value, frozen=True):
    """What became of one feed.

    Attributes:
        what: What happened to it.
        guid: Its guid, by which this alone is taken back.
        name: What it is called.
        other: What it was called if it moved; what it is one with if it was merged; else "".
    """

    what: ChangeKind
    guid: Guid
    name: str
    other: str


class Actor(Value, frozen=True):
    """Who made a change.

    Attributes:
        kind: How they were let in; None if that is unknown.
        app: What the app is called, without its version; "" if it did not say.
        device: What its owner calls its device; "" if it named none.
    """

    kind: CredentialKind | None
    app: str = ""
    device: str = ""


class Line(Value, frozen=True):
    """The changes of one request.

    Attributes:
        stamps: Their stamps, newest first.
        who: Who made them.
        counts: How many feeds each kind of change happened to.
        feeds: What they did; of many feeds, the first ones.
        total: How many feeds they changed.
    """

    stamps: Sequence[Stamp]
    who: Actor
    counts: Sequence[tuple[ChangeKind, int]]
    feeds: Sequence[ChangeRow]
    total: int

    @property
    def before(self) -> Stamp:
        """The last moment before the first of them."""
        return later(self.stamps[-1], -1)


class ShownWipe(Value, frozen=True):
    """A wipe that a page asks about.

    Attributes:
        stamps: The stamps of its changes, newest first.
        who: Who made it.
        feeds: The first of the feeds that are gone.
        total: How many are gone.
    """

    stamps: Sequence[Stamp]
    who: Actor
    feeds: Sequence[ChangeRow]
    total: int


def urls_of(feeds: Iterable[FeedChange]) -> set[str]:
    """Return the URLs of the feeds that changes were about."""
    return {url for feed in feeds for url in (feed.feed_url, _other_url(feed)) if url}


def shown_urls(listed: ListedChanges) -> set[str]:
    """Return the URLs of the feeds that a page of changes names."""
    return {url for change in listed.changes for url in urls_of(change.feeds[:FEEDS_OF_A_CHANGE])}


def lines_of(
    listed: ListedChanges, devices: Mapping[str, str], titles: Mapping[str, str]
) -> list[Line]:
    """Return a line for each request; a long import, for example, is stored in several steps.

    If the history goes on, the last request may have more steps than are listed; it is left to the
    next page. `devices` has what devices are called, by their ids, and `titles` what feeds are
    called, by their URLs.
    """
    groups: list[list[int]] = []
    request = ""
    for number, change in enumerate(listed.changes):
        author = listed.author_of(change)
        if groups and author and author.request and author.request == request:
            groups[-1].append(number)
        else:
            groups.append([number])
        request = author.request if author else ""
    if listed.has_more and len(groups) > 1:
        groups.pop()
    lines, room = [], _FEEDS_ON_A_PAGE
    for group in groups:
        changes = [listed.changes[number] for number in group]
        feeds = [feed for change in changes for feed in change.feeds]
        shown = [change_of(feed, titles) for feed in feeds[: min(room, FEEDS_OF_A_CHANGE)]]
        room -= len(shown) if len(feeds) > 1 else 0
        found = Counter(feed.what for feed in feeds)
        lines.append(
            Line(
                [change.stamp for change in changes],
                who_of(listed.author_of(changes[0]), devices),
                [(what, found[what]) for what in ChangeKind if what in found],
                shown if len(feeds) > 1 else [change_of(feed, titles) for feed in feeds],
                len(feeds),
            )
        )
    return lines


def change_of(feed: FeedChange, titles: Mapping[str, str]) -> ChangeRow:
    """Return what became of a feed; of one that moved, with its new address and no title."""
    name = _name(feed.feed_url, titles)
    old = _other_url(feed)
    if not old:
        return ChangeRow(feed.what, feed.guid, name, "")
    other = _name(old, titles)
    title = titles.get(feed.feed_url) or titles.get(old)
    if feed.what is ChangeKind.MOVED and title:
        name, other = _name(feed.feed_url, {}), _short(title)
    elif other == name and title:  # both have the same title
        other = _name(old, {})
    elif other == name:  # from http to https, for example
        name, other = _short(feed.feed_url), _short(old)
    return ChangeRow(feed.what, feed.guid, name, other)


def _other_url(feed: FeedChange) -> str:
    """Return the other URL that a change was about, if there was one."""
    return feed.old or "" if feed.what in {ChangeKind.MOVED, ChangeKind.MERGED} else ""


def _name(feed_url: str, titles: Mapping[str, str]) -> str:
    return _short(name_of(feed_url, titles.get(feed_url, "")))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def shown_wipe(
    wipe: Wipe, author: Author | None, devices: Mapping[str, str], titles: Mapping[str, str]
) -> ShownWipe:
    """Return what a page says of a wipe."""
    shown = [change_of(feed, titles) for feed in wipe.feeds[:FEEDS_OF_A_CHANGE]]
    return ShownWipe(wipe.stamps, who_of(author, devices), shown, len(wipe.feeds))


def who_of(author: Author | None, devices: Mapping[str, str]) -> Actor:
    """Return who an author is, as the account's owner knows them."""
    if author is None:
        return Actor(None)
    app = product(author.name)
    device = devices.get(author.device) or author.device
    # AntennaPod calls its device "AntennaPod on ...".
    if app and app.casefold() in device.casefold():
        app, device = device, ""
    return Actor(author.kind, app, device)


def product(name: str) -> str:
    """Return an app's name from what it calls itself: its User-Agent, or a label."""
    if name.startswith("Mozilla/") and (last := _LAST_PRODUCT.match(name)):
        return last[1]
    head, _, tail = name.partition("/")
    is_product = "(" not in head and _VERSION.match(tail)
    return (head if is_product and head else name).strip()
