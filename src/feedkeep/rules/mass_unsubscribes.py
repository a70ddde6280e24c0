"""Detection of mass unsubscribes: one app unsubscribed most of a list at once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from feedkeep.model import Author, CredentialKind, Entry, Guid, Stamp, Subscription, Value
from feedkeep.model.entry_index import target_guid
from feedkeep.rules.app_identity import author_key
from feedkeep.rules.list_changes import FeedChange, ListChange, is_back, is_gone

WINDOW_US = 600_000_000
"""Maximum duration of a mass unsubscribe: ten minutes."""

_SMALLEST_LIST, _FEWEST, _PART = 2, 3, 3

_BURST_US = 15_000_000
"""Maximum interval between two requests of one burst: apps send a long list in several."""


class MassUnsubscribe(Value, frozen=True):
    """The removal of most of a list by one app.

    Attributes:
        stamps: Stamps of the changes, newest first.
        author: Stored author of the last change.
        feeds: The effects on the feeds that are still unsubscribed.
    """

    stamps: Sequence[Stamp]
    author: str
    feeds: Sequence[FeedChange]


def is_mass_unsubscribe(subscribed: int, unsubscribed: int) -> bool:
    """Whether `unsubscribed` of `subscribed` feeds are a mass unsubscribe.

    They do if the list is empty afterwards, or if they are at least three feeds and a third of it.
    """
    if unsubscribed >= subscribed:
        return subscribed >= _SMALLEST_LIST
    return unsubscribed >= _FEWEST and unsubscribed * _PART >= subscribed


def may_have_mass_unsubscribe(entries: Mapping[Guid, Entry], subscribed: int, since: Stamp) -> bool:
    """Whether a list may have a mass unsubscribe since a stamp, judged without its history.

    More than half of the feeds of one are still unsubscribed, or it no longer counts: so a sixth
    of the list is unsubscribed, or a twelfth if the list has doubled since.
    """
    gone = sum(
        isinstance(entry, Subscription) and not entry.is_subscribed and entry.status_changed > since
        for entry in entries.values()
    )
    return gone >= max(_SMALLEST_LIST, (subscribed + gone) // (4 * _PART))


def can_mass_unsubscribe(author: Author) -> bool:
    """Whether an author's removals can be a mass unsubscribe.

    In a browser, a person sees what they remove, and can undo it at once.
    """
    return author.kind is not CredentialKind.BROWSER


def mass_unsubscribes(
    changes: Sequence[ListChange],
    authors: Mapping[str, Author],
    entries: Mapping[Guid, Entry],
    subscribed: int,
) -> list[MassUnsubscribe]:
    """Return the mass unsubscribes among the newest changes of a list, newest first.

    Skips any of which half or more is subscribed again. `authors` are the parsed authors by
    their stored text; `subscribed` is the present number of subscribed feeds.
    """
    found: list[MassUnsubscribe] = []
    seen: set[Stamp] = set()
    removals = _removals(changes, authors, subscribed)
    removed = {f.guid: c.stamp for c in reversed(changes) for f in c.feeds if is_gone(f)}
    for newest, removal in enumerate(removals):
        if removal.stamp in seen:
            continue
        window = [
            other
            for other in removals[newest:]
            if other.stamp > removal.stamp - WINDOW_US and other.app == removal.app
        ]
        burst = _burst(window)
        gone = {feed.guid: feed for one in burst for feed in one.feeds}
        stamps = [one.stamp for one in burst]
        seen |= set(stamps)
        still = [
            feed
            for guid, feed in gone.items()
            if removed[guid] in stamps and not _is_subscribed(entries, guid)
        ]
        if 2 * len(still) > len(gone):
            found.append(MassUnsubscribe(stamps, removal.author, still))
    return found


class _Removal(Value, frozen=True):
    """A change that removed feeds.

    Attributes:
        author: Stored author.
        app: Key of the author's app.
        feeds: The effects on the removed feeds.
        size: Number of subscribed feeds before the change.
    """

    stamp: Stamp
    author: str
    app: str
    feeds: Sequence[FeedChange]
    size: int


def _removals(
    changes: Sequence[ListChange], authors: Mapping[str, Author], subscribed: int
) -> list[_Removal]:
    removals = []
    for change, size in zip(changes, _sizes_before(changes, subscribed), strict=True):
        author = authors.get(change.author)
        gone = [feed for feed in change.feeds if is_gone(feed)]
        if gone and (author is None or can_mass_unsubscribe(author)):
            app = author_key(author) if author else f"unknown {change.stamp}"
            removals.append(_Removal(change.stamp, change.author, app, gone, size))
    return removals


def _burst(window: Sequence[_Removal]) -> Sequence[_Removal]:
    """Return the removals of an app within ten minutes that form a mass unsubscribe, newest first.

    An earlier, separate request of the app is not part of a later one.
    """
    bursts: list[list[_Removal]] = []
    for removal in window:
        if bursts and bursts[-1][-1].stamp - removal.stamp <= _BURST_US:
            bursts[-1].append(removal)
        else:
            bursts.append([removal])
    for count in range(len(bursts), 0, -1):
        if _is_mass_unsubscribe(bursts[count - 1]):
            return [removal for burst in bursts[:count] for removal in burst]
    return window if _is_mass_unsubscribe(window) else ()


def _is_mass_unsubscribe(removals: Sequence[_Removal]) -> bool:
    gone = {feed.guid for removal in removals for feed in removal.feeds}
    return is_mass_unsubscribe(max(removal.size for removal in removals), len(gone))


def _sizes_before(changes: Sequence[ListChange], subscribed: int) -> list[int]:
    """Return the number of subscribed feeds before each change, newest first, from the changes.

    Merged feeds count as one, and a feed that was unsubscribed and then deleted is counted once.
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


def _is_subscribed(entries: Mapping[Guid, Entry], guid: Guid) -> bool:
    """Whether a feed is subscribed, possibly under the guid of a feed that it was merged into."""
    entry = entries.get(guid)
    feed = entries[target_guid(entry)] if entry else None
    return isinstance(feed, Subscription) and feed.is_subscribed
