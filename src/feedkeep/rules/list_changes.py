"""The effects of changes on the feeds of a list. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from feedkeep.model import (
    Entry,
    EntryState,
    Guid,
    HistoryPage,
    Pointer,
    Stamp,
    Subscription,
    Value,
)
from feedkeep.model.entry_index import target_guid


class ChangeKind(StrEnum):
    """The effect of a change on a feed.

    Attributes:
        ADDED: It was added to the list, or restored after it was deleted.
        SUBSCRIBED: It was subscribed to again.
        DELETED: It was deleted from the list.
        MOVED: It got another URL.
        RENAMED: It got another guid.
        MERGED: It was merged with another feed.
        SPLIT: It became a separate feed again.
        LED: Another URL or guid now resolves to it.
    """

    ADDED = "added"
    SUBSCRIBED = "subscribed"
    UNSUBSCRIBED = "unsubscribed"
    DELETED = "deleted"
    MOVED = "moved"
    RENAMED = "renamed"
    MERGED = "merged"
    SPLIT = "split"
    LED = "led"


class FeedChange(Value, frozen=True):
    """The effect of one change on one feed.

    Attributes:
        guid: The feed's guid after the change.
        feed_url: The feed's URL after the change.
        old: The former URL for `MOVED`, the former guid for `RENAMED`, the URL of the merged feed
            for `MERGED`, otherwise None.
    """

    what: ChangeKind
    guid: Guid
    feed_url: str
    old: str | None = None


class ListChange(Value, frozen=True):
    """One change of a list.

    Attributes:
        stamp: Its stamp, by which it is undone.
        author: Stored author; "" if unknown.
        feeds: Its effects, ordered by URL.
    """

    stamp: Stamp
    author: str
    feeds: Sequence[FeedChange]


def changes_on(page: HistoryPage, entries: Mapping[Guid, Entry]) -> list[ListChange]:
    """Return the changes on a page of a history, newest first (C9.4).

    `entries` is the present list, for the URLs of feeds whose states are not on the page.
    """
    before: defaultdict[Stamp, dict[Guid, EntryState]] = defaultdict(dict)
    after: defaultdict[Stamp, dict[Guid, EntryState]] = defaultdict(dict)
    for state in page.states:
        if state.began is not None:
            after[state.began][state.entry.guid] = state
        if state.ended is not None:
            before[state.ended][state.entry.guid] = state
    return [
        ListChange(
            stamp,
            next((state.author for state in after[stamp].values() if state.author), ""),
            differences(_entries(before[stamp]), _entries(after[stamp]), entries),
        )
        for stamp in page.stamps
    ]


def differences(
    before: Mapping[Guid, Entry], after: Mapping[Guid, Entry], others: Mapping[Guid, Entry]
) -> list[FeedChange]:
    """Return the effects on feeds, ordered by URL; empty if only data for apps changed.

    `before` and `after` are the entries that changed, `others` the unchanged ones.
    """
    was = {guid: entry for guid, entry in before.items() if isinstance(entry, Subscription)}
    renamed = {
        entry.new_guid: old
        for guid, entry in after.items()
        if isinstance(entry, Pointer)
        and (old := was.get(guid))
        and entry.new_guid not in was
        and entry.new_guid in after
    }
    merged = {
        guid: entry.new_guid
        for guid, entry in after.items()
        if isinstance(entry, Pointer) and guid in was and entry.new_guid not in renamed
    }
    split = {
        guid
        for guid, entry in after.items()
        if isinstance(entry, Subscription)
        and isinstance(before.get(guid), Pointer)
        and guid not in renamed
    }
    # The URL of a merged feed is not one that the other feed moved to.
    shared: set[str | None] = {was[guid].feed_url for guid in merged}
    shared |= {_url_of(guid, after) for guid in split}
    found: list[FeedChange] = []
    for guid, entry in after.items():
        if guid in split:
            found.append(FeedChange(ChangeKind.SPLIT, guid, _url_of(guid, after) or ""))
        elif isinstance(entry, Subscription):
            found += _became(was.get(guid) or renamed.get(guid), entry, shared)
        elif guid in merged:
            into = _url_of(entry.new_guid, after, others) or was[guid].feed_url
            urls = [was[guid].feed_url, *(was[g].feed_url for g in [entry.new_guid] if g in was)]
            gone = next((url for url in urls if url != into), None)
            found.append(FeedChange(ChangeKind.MERGED, entry.new_guid, into, gone))
    if not found:
        targets = {target_guid(entry) for guid, entry in after.items() if guid not in before}
        found = [
            FeedChange(ChangeKind.LED, guid, url)
            for guid in targets
            if (url := _url_of(guid, after, others))
        ]
    return sorted(found, key=lambda change: change.feed_url)


def _became(
    old: Subscription | None, new: Subscription, shared: set[str | None]
) -> list[FeedChange]:
    def change(what: ChangeKind, former: str | None = None) -> FeedChange:
        return FeedChange(what, new.guid, new.feed_url, former)

    if old is None:
        return [change(ChangeKind.ADDED)] if new.deleted is None else [change(ChangeKind.DELETED)]
    found = []
    if old.guid != new.guid:
        found.append(change(ChangeKind.RENAMED, old.guid))
    if old.feed_url != new.feed_url and shared.isdisjoint({old.feed_url, new.feed_url}):
        found.append(change(ChangeKind.MOVED, old.feed_url))
    if (old.deleted is None) != (new.deleted is None):
        found.append(change(ChangeKind.DELETED if old.deleted is None else ChangeKind.ADDED))
    elif old.is_subscribed != new.is_subscribed:
        found.append(
            change(ChangeKind.SUBSCRIBED if new.is_subscribed else ChangeKind.UNSUBSCRIBED)
        )
    return found


def _url_of(guid: Guid, *lists: Mapping[Guid, Entry]) -> str | None:
    for known in lists:
        entry = known.get(guid)
        if isinstance(entry, Pointer):
            entry = known.get(entry.new_guid)
        if isinstance(entry, Subscription):
            return entry.feed_url
    return None


def _entries(states: Mapping[Guid, EntryState]) -> dict[Guid, Entry]:
    return {guid: state.entry for guid, state in states.items()}


def is_gone(change: FeedChange) -> bool:
    return change.what in {ChangeKind.UNSUBSCRIBED, ChangeKind.DELETED}


def is_back(change: FeedChange) -> bool:
    return change.what in {ChangeKind.SUBSCRIBED, ChangeKind.ADDED}


class GroupedChanges(Value, frozen=True):
    """The effects of restoring a list: feeds that return, feeds that go, and other changes."""

    back: Sequence[FeedChange]
    gone: Sequence[FeedChange]
    others: Sequence[FeedChange]


def in_kinds(feeds: Iterable[FeedChange]) -> GroupedChanges:
    """Group changes by their meaning for the owner of the list, in the same order."""
    kinds: tuple[list[FeedChange], ...] = ([], [], [])
    for feed in feeds:
        kinds[0 if is_back(feed) else 1 if is_gone(feed) else 2].append(feed)
    return GroupedChanges(*kinds)
