"""Noticing that a list was wiped: most of it unsubscribed at once, by one app. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from feedkeep.model import Author, CredentialKind, Entry, Guid, Stamp, Subscription, Value
from feedkeep.rules.app_identity import author_key
from feedkeep.rules.list_changes import FeedChange, ListChange, is_back, is_gone

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


def wipes(
    changes: Sequence[ListChange],
    authors: Mapping[str, Author],
    entries: Mapping[Guid, Entry],
    subscribed: int,
) -> list[Wipe]:
    """Return the wipes among the newest changes of a list, newest first.

    A wipe of which half was brought back already is none, and so is what a person takes back in a
    browser that they have just added there. `authors` has what is stored of each author, read;
    `subscribed` is how many feeds the list has now.
    """
    found: list[Wipe] = []
    seen: set[Stamp] = set()
    sizes = _sizes_before(changes, subscribed)
    gone_by = [_gone_by(changes[number:], authors) for number in range(len(changes))]
    removed = {f.guid: c.stamp for c in reversed(changes) for f in c.feeds if is_gone(f)}
    for newest in range(len(changes)):
        change = changes[newest]
        if change.stamp in seen or not gone_by[newest]:
            continue
        app = _who(authors, change)
        window = [
            number
            for number in range(newest, len(changes))
            if changes[number].stamp > change.stamp - WINDOW_US
            and _who(authors, changes[number]) == app
        ]
        gone = {feed.guid: feed for number in window for feed in gone_by[number]}
        if is_wipe(max(sizes[number] for number in window), len(gone)):
            stamps = [changes[number].stamp for number in window if gone_by[number]]
            seen |= set(stamps)
            still = [
                feed
                for guid, feed in gone.items()
                if removed[guid] in stamps and not _is_subscribed(entries.get(guid))
            ]
            if 2 * len(still) > len(gone):
                found.append(Wipe(stamps, change.author, still))
    return found


def _gone_by(changes: Sequence[ListChange], authors: Mapping[str, Author]) -> list[FeedChange]:
    """Return what the first of some changes removed, the others being before it."""
    change = changes[0]
    author = authors.get(change.author)
    just_added: set[Guid] = set()
    if author and author.kind is CredentialKind.BROWSER:
        for other in changes[1:]:
            is_theirs = other.stamp > change.stamp - WINDOW_US and (
                _who(authors, other) == author_key(author)
            )
            if is_theirs:
                just_added |= {feed.guid for feed in other.feeds if is_back(feed)}
    return [feed for feed in change.feeds if is_gone(feed) and feed.guid not in just_added]


def _sizes_before(changes: Sequence[ListChange], subscribed: int) -> list[int]:
    """Return how many feeds the list had before each change, newest first, as far as they tell.

    Merged feeds count as one, and a feed that was unsubscribed and then deleted has gone once.
    """
    gone: set[Guid] = set()
    gains = []
    for change in reversed(changes):
        back = {feed.guid for feed in change.feeds if is_back(feed)}
        left = {feed.guid for feed in change.feeds if is_gone(feed)} - gone
        gone = (gone | left) - back
        gains.append(len(back) - len(left))
    sizes = []
    for gain in reversed(gains):
        subscribed -= gain
        sizes.append(subscribed)
    return sizes


def _who(authors: Mapping[str, Author], change: ListChange) -> str:
    author = authors.get(change.author)
    return author_key(author) if author else f"unknown {change.stamp}"


def _is_subscribed(entry: Entry | None) -> bool:
    return isinstance(entry, Subscription) and entry.is_subscribed
