"""Noticing that a list was wiped: most of it unsubscribed at once, by one app. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from feedkeep.model import Author, Entry, Guid, Stamp, Subscription, Value
from feedkeep.rules.list_changes import FeedChange, ListChange, is_gone, net_gain

WINDOW_US = 600_000_000
"""How long it may take an app: ten minutes."""

_MIN_FEEDS = 10


class Wipe(Value, frozen=True):
    """A wipe of a list.

    Attributes:
        stamps: The stamps of the changes, newest first.
        author: Who made the last of them, as it is stored.
        feeds: What they did to the feeds that are gone since.
    """

    stamps: Sequence[Stamp]
    author: str
    feeds: Sequence[FeedChange]


def is_wipe(subscribed: int, unsubscribed: int) -> bool:
    """Say whether it is a wipe if so many of a list's feeds were unsubscribed."""
    return subscribed >= _MIN_FEEDS and 2 * unsubscribed > subscribed


def who(author: Author) -> str:
    """Return what is the same for all changes of one app.

    AntennaPod begins a session with each sync: its device tells that it is the same app.
    """
    if author.device:
        return f"device {author.device}"
    return f"{author.kind} {author.token_id if author.token_id is not None else author.name}"


def wipes(
    changes: Sequence[ListChange],
    authors: Mapping[str, Author],
    entries: Mapping[Guid, Entry],
    subscribed: int,
) -> list[Wipe]:
    """Return the wipes among the newest changes of a list, newest first.

    A wipe of which half was brought back already is none. `authors` has what is stored of each
    author, read; `subscribed` is how many feeds the list has now.
    """
    found: list[Wipe] = []
    seen: set[Stamp] = set()
    sizes = _sizes_before(changes, subscribed)
    for newest in range(len(changes)):
        change = changes[newest]
        if change.stamp in seen or not any(map(is_gone, change.feeds)):
            continue
        app = _who(authors, change)
        window = [
            (size, other)
            for size, other in zip(sizes[newest:], changes[newest:], strict=True)
            if other.stamp > change.stamp - WINDOW_US and _who(authors, other) == app
        ]
        gone = {f.guid: f for _, other in window for f in other.feeds if is_gone(f)}
        if is_wipe(max(size for size, _ in window), len(gone)):
            stamps = [other.stamp for _, other in window if any(map(is_gone, other.feeds))]
            seen |= set(stamps)
            still = [f for guid, f in gone.items() if not _is_subscribed(entries.get(guid))]
            if 2 * len(still) > len(gone):
                found.append(Wipe(stamps, change.author, still))
    return found


def _sizes_before(changes: Iterable[ListChange], subscribed: int) -> list[int]:
    """Return how many feeds the list had before each change, newest first."""
    sizes = []
    for change in changes:
        subscribed -= net_gain(change.feeds)
        sizes.append(subscribed)
    return sizes


def _who(authors: Mapping[str, Author], change: ListChange) -> str:
    author = authors.get(change.author)
    return who(author) if author else f"unknown {change.stamp}"


def _is_subscribed(entry: Entry | None) -> bool:
    return isinstance(entry, Subscription) and entry.is_subscribed
