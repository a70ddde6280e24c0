"""View of a list's changes: a line for each request, with its author. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from feedkeep.model import Author, CredentialKind, Guid, Stamp, Value
from feedkeep.rules.app_identity import app_name
from feedkeep.rules.clock import shift
from feedkeep.rules.feed_names import name_of
from feedkeep.rules.list_changes import ChangeKind, FeedChange
from feedkeep.rules.mass_unsubscribes import MassUnsubscribe
from feedkeep.service.history import ListedChanges

FEEDS_OF_A_CHANGE = 200
"""Maximum number of feeds shown of a change; the rest are counted."""

_FEEDS_ON_A_PAGE = 1_000
_MAX_SHOWN = 100


class ChangeRow(Value, frozen=True):
    """The change of one feed.

    Attributes:
        guid: Guid of the feed, by which this change alone can be undone.
        other: Former name of a moved feed, or name of the feed it was merged with; otherwise "".
    """

    what: ChangeKind
    guid: Guid
    name: str
    other: str


class Actor(Value, frozen=True):
    """Author of a change.

    Attributes:
        kind: Kind of credential; None if unknown.
        app: Name of the app without its version; "" if unknown.
        device: Caption or id of the device; "" if unknown.
    """

    kind: CredentialKind | None
    app: str = ""
    device: str = ""


class Line(Value, frozen=True):
    """The changes of one request.

    Attributes:
        stamps: Stamps of the changes, newest first.
        counts: Number of feeds for each kind of change.
        feeds: Changed feeds; the first of them if there are many.
        total: Number of changed feeds.
    """

    stamps: Sequence[Stamp]
    who: Actor
    counts: Sequence[tuple[ChangeKind, int]]
    feeds: Sequence[ChangeRow]
    total: int

    @property
    def before(self) -> Stamp:
        """The time just before the first change."""
        return shift(self.stamps[-1], -1)


class ShownMassUnsubscribe(Value, frozen=True):
    """A mass unsubscribe that a page asks about.

    Attributes:
        stamps: Stamps of its changes, newest first.
        feeds: The first of the removed feeds.
        total: Number of removed feeds.
    """

    stamps: Sequence[Stamp]
    who: Actor
    feeds: Sequence[ChangeRow]
    total: int


def urls_of(feeds: Iterable[FeedChange]) -> set[str]:
    """Return the URLs of changed feeds, former and merged URLs included."""
    return {url for feed in feeds for url in (feed.feed_url, _other_url(feed)) if url}


def shown_urls(listed: ListedChanges) -> set[str]:
    """Return the URLs of the feeds shown on a page of changes."""
    return {url for change in listed.changes for url in urls_of(change.feeds[:FEEDS_OF_A_CHANGE])}


def lines_of(
    listed: ListedChanges, devices: Mapping[str, str], titles: Mapping[str, str]
) -> list[Line]:
    """Group changes into a line for each request; a long import, for example, has several.

    If the history continues, the last request may have further changes and is left to the next
    page. `devices` has captions by device id, and `titles` has titles by feed URL.
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
    """Convert a change for display; the name of a moved feed is its new address."""
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
    return feed.old or "" if feed.what in {ChangeKind.MOVED, ChangeKind.MERGED} else ""


def _name(feed_url: str, titles: Mapping[str, str]) -> str:
    return _short(name_of(feed_url, titles.get(feed_url, "")))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def shown_mass_unsubscribe(
    mass_unsubscribe: MassUnsubscribe,
    author: Author | None,
    devices: Mapping[str, str],
    titles: Mapping[str, str],
) -> ShownMassUnsubscribe:
    """Convert a mass unsubscribe for display."""
    shown = [change_of(feed, titles) for feed in mass_unsubscribe.feeds[:FEEDS_OF_A_CHANGE]]
    return ShownMassUnsubscribe(
        mass_unsubscribe.stamps, who_of(author, devices), shown, len(mass_unsubscribe.feeds)
    )


def who_of(author: Author | None, devices: Mapping[str, str]) -> Actor:
    """Convert an author for display; `devices` has captions by device id."""
    if author is None:
        return Actor(None)
    app = app_name(author.name)
    device = devices.get(author.device) or author.device
    # AntennaPod calls its device "AntennaPod on ...".
    if app and app.casefold() in device.casefold():
        app, device = device, ""
    return Actor(author.kind, app, device)
