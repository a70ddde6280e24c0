"""Undoing changes, and restoring a list, from its former states. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum

from feedkeep.model import (
    Decision,
    Entry,
    Guid,
    History,
    Pointer,
    Snapshot,
    Stamp,
    Subscription,
    Value,
)
from feedkeep.model.entry_index import EntryIndex, target_guid
from feedkeep.model.errors import ChangedSince, InvalidInput, UnknownChange
from feedkeep.rules.clock import shift
from feedkeep.rules.draft import Draft
from feedkeep.rules.entry_states import is_same_state, states_at
from feedkeep.rules.list_restore import Past, restore_entries, status_of, tied_groups
from feedkeep.rules.subscriptions import set_status

HISTORY_DAYS = 90
"""Default number of days for which former states are kept (C9.1)."""


class ConflictPolicy(StrEnum):
    """Treatment of feeds that were changed again after the changes to undo (C9.11).

    Attributes:
        ASK: Change nothing; the error names the later changes.
        LEAVE: Leave these feeds as they are, and restore all others.
        OVERWRITE: Restore these feeds, too, which undoes the later changes.
    """

    ASK = "ask"
    LEAVE = "leave"
    OVERWRITE = "overwrite"


class Undo(Value, frozen=True):
    """Changes to undo.

    Attributes:
        stamps: The stamps of the changes; for example of one request.
        guids: Guids of the feeds to restore (C9.9); None for all feeds that the changes touched.
        when_changed: Treatment of feeds that were changed again since.
    """

    stamps: Collection[Stamp]
    guids: Collection[Guid] | None = None
    when_changed: ConflictPolicy = ConflictPolicy.ASK


class ListRestored(Value, frozen=True):
    """The outcome of undoing or restoring.

    Attributes:
        stamp: The stamp of the new change; None if there was nothing to change.
        feeds: Number of feeds that were changed.
        left: Number of feeds left as they are, since they were changed again.
        podcasts: Derived guids of all URLs of the feeds that apps are sent as added. Apps that were
            sent their removal have deleted their play states.
    """

    stamp: Stamp | None
    feeds: int
    left: int = 0
    podcasts: frozenset[Guid] = frozenset()


def undo(
    snapshot: Snapshot,
    wanted: Undo,
    held: Collection[Guid] = (),
) -> Decision[ListRestored]:
    """Restore the feeds that changes touched to their state before the first change (C9.8).

    The snapshot is of a whole account, with its history from that first change; `held` are the
    derived guids of URLs that apps are known to have.

    Raises:
        UnknownChange: There is no such change (C9.10), or it did not touch the named feeds.
        ChangedSince: Feeds changed again since, and the client chose no policy (C9.11).
        InvalidInput: The history does not go back that far, or the list is full.
    """
    history = _history_of(snapshot)
    first = min(wanted.stamps, default=None)
    if first is None or not (touched := _touched(history, wanted, snapshot.entries)):
        raise UnknownChange
    moment = shift(first, -1)
    _check_known(history, moment)
    draft = Draft(snapshot)
    past = _past(history, moment, held)
    changed_since = _changed_since(history, first, wanted.stamps)
    # Entries in their former state stay, even where apps have another URL of the feed than then.
    groups = [
        group for group in tied_groups(draft, past, touched) if _differs(past, snapshot, group)
    ]
    leaving: set[Guid] = set()
    if wanted.when_changed is not ConflictPolicy.OVERWRITE:
        changed_again = [g for g in groups if not changed_since.keys().isdisjoint(g)]
        leaving = _still_to_undo(snapshot, past, changed_again)
    left = _count_feeds(snapshot.entries, leaving)
    if leaving and wanted.when_changed is ConflictPolicy.ASK:
        since = {stamp for guid in leaving for stamp in changed_since.get(guid, ())}
        raise ChangedSince(sorted(since, reverse=True), left)
    scope = set().union(*groups) - leaving
    restore_entries(draft, past, scope, keep_added=False)
    draft.check_limits(snapshot.counts)
    return _list_restored(draft, left)


def restore_removed(
    snapshot: Snapshot,
    stamps: Collection[Stamp],
    held: Collection[Guid] = (),
) -> Decision[ListRestored]:
    """Restore the feeds that changes of a whole account removed, and change nothing else.

    A feed is restored if these changes were the last to remove it, to its state before the first of
    them that removed it. This restores all that an app has removed, even repeatedly, whatever else
    happened to the list. The snapshot has its history from the first of these changes; `held` is as
    in `undo`.

    Raises:
        InvalidInput: The list is full.
    """
    history, draft = _history_of(snapshot), Draft(snapshot)
    deleted: defaultdict[Stamp, list[Guid]] = defaultdict(list)
    for feed, was, stamp in _removed(history, frozenset(stamps)):
        if feed.deleted is not None:
            deleted[stamp].append(feed.guid)
        elif was.is_subscribed:
            set_status(draft, feed, True)
    for stamp, guids in sorted(deleted.items(), reverse=True):
        past = _past(history, shift(stamp, -1), held)
        scope = set().union(*tied_groups(draft, past, guids))
        restore_entries(draft, past, scope, keep_added=True)  # removes nothing
    draft.check_limits(snapshot.counts)
    return _list_restored(draft, 0)


def restore(
    snapshot: Snapshot,
    moment: Stamp,
    *,
    keep_added: bool,
    held: Collection[Guid] = (),
) -> Decision[ListRestored]:
    """Restore a whole list to a moment from which the snapshot has its history.

    `held` is as in `undo`. Feeds added since are deleted, or with `keep_added` left as they are.

    Raises:
        InvalidInput: The history does not go back that far, or the list is full.
    """
    history = _history_of(snapshot)
    _check_known(history, moment)
    past = _past(history, moment, held)
    return _restored(snapshot, past, keep_added=keep_added)


class ListAt(Value, frozen=True):
    """A whole list at a moment, in this database or in another one.

    Attributes:
        moment: A stamp of the account's clock.
    """

    entries: Mapping[Guid, Entry]
    moment: Stamp


def list_at(whole: Snapshot, moment: Stamp) -> ListAt:
    """Return the list at a moment from which the snapshot has its history.

    Raises:
        InvalidInput: The history does not go back that far.
    """
    history = _history_of(whole)
    _check_known(history, moment)
    return ListAt(_past(history, moment, ()).entries.whole(), moment)


def restore_from(
    snapshot: Snapshot,
    wanted: ListAt,
    *,
    keep_added: bool,
    held: Collection[Guid] = (),
) -> Decision[ListRestored]:
    """Restore a whole list from a backup of its account, as `restore` does.

    The history of the snapshot may begin after the backup: it is used only to find renames.

    Raises:
        InvalidInput: The list is full.
    """
    states = _history_of(snapshot).states
    since = [state for state in states if state.ended is None or state.ended > wanted.moment]
    past = Past(EntryIndex(wanted.entries), since, held)
    return _restored(snapshot, past, keep_added=keep_added)


def _restored(snapshot: Snapshot, past: Past, *, keep_added: bool) -> Decision[ListRestored]:
    draft = Draft(snapshot)
    known = {**past.entries.whole(), **snapshot.entries}
    guids = [guid for guid in known if _differs(past, snapshot, [guid])]
    scope = set().union(*tied_groups(draft, past, guids))
    restore_entries(draft, past, scope, keep_added=keep_added)
    draft.check_limits(snapshot.counts)
    return _list_restored(draft, 0)


def _history_of(snapshot: Snapshot) -> History:
    if snapshot.history is None:
        raise LookupError("The history was not loaded before it is read.")
    return snapshot.history


def _check_known(history: History, moment: Stamp) -> None:
    if moment < history.known_from:  # C9.2
        raise InvalidInput(
            "The history of this list does not go back that far. Choose a later moment."
        )


def _past(history: History, moment: Stamp, held: Collection[Guid]) -> Past:
    then = states_at(history.states, moment)
    entries = {guid: state.entry for guid, state in then.items()}
    # A guid may have had earlier lives before that moment.
    later_states = [s for s in history.states if s.ended is None or s.ended > moment]
    return Past(EntryIndex(entries), later_states, held)


def _removed(
    history: History, stamps: Collection[Stamp]
) -> list[tuple[Subscription, Subscription, Stamp]]:
    """Return the feeds that changes were the last to remove: each as it is and as it was before.

    Also returns, for each feed, the stamp of the first of these changes that removed it.
    """
    before = {(state.entry.guid, state.ended): state for state in history.states if state.ended}
    former = {  # a guid that a feed had until its guid changed
        (state.entry.new_guid, state.began): state.entry.guid
        for state in history.states
        if isinstance(state.entry, Pointer)
    }
    removed = []
    for present in history.states:
        feed = present.entry
        if present.ended is not None or not isinstance(feed, Subscription):
            continue
        was, first, here, began = feed, None, feed, present.began
        while began:
            earlier = before.get((here.guid, began))
            if earlier is None and (guid := former.get((here.guid, began))):
                earlier = before.get((guid, began))
            if earlier is None:
                break
            entry = earlier.entry
            if not isinstance(entry, Subscription) or status_of(entry) < status_of(here):
                break  # the feed was added or restored
            if status_of(entry) > status_of(here):
                if began not in stamps:
                    break
                was, first = entry, began
            here, began = entry, earlier.began
        if first is not None:
            removed.append((feed, was, first))
    return sorted(removed, key=lambda one: one[0].guid)


def _touched(history: History, wanted: Undo, entries: Mapping[Guid, Entry]) -> set[Guid]:
    """Return the guids that changes touched, only of `wanted.guids` if these are given.

    A feed may be named by any guid that resolves to it now (C3.8).
    """

    def present(guid: Guid) -> Guid:
        return target_guid(entries[guid]) if guid in entries else guid

    stamps = frozenset(wanted.stamps)
    named = None if wanted.guids is None else frozenset(map(present, wanted.guids))
    return {
        state.entry.guid
        for state in history.states
        if (state.began in stamps or state.ended in stamps)
        # If another URL was redirected to the feed, only the pointer was touched.
        and (
            named is None
            or present(state.entry.guid) in named
            or present(target_guid(state.entry)) in named
        )
    }


def _changed_since(
    history: History, first: Stamp, stamps: Collection[Stamp]
) -> dict[Guid, set[Stamp]]:
    """Return the stamps of other changes after the first, by the guids that they touched."""
    since: defaultdict[Guid, set[Stamp]] = defaultdict(set)
    own = frozenset(stamps)
    for state in history.states:
        for stamp in (state.began, state.ended):
            if stamp is not None and stamp > first and stamp not in own:
                since[state.entry.guid].add(stamp)
    return since


def _differs(past: Past, snapshot: Snapshot, guids: Iterable[Guid]) -> bool:
    then, now = past.entries, snapshot.entries
    return not all(is_same_state(then.get(guid), now.get(guid)) for guid in guids)


def _still_to_undo(snapshot: Snapshot, past: Past, groups: Sequence[set[Guid]]) -> set[Guid]:
    """Return the guids of the groups that an undo would change.

    A feed that was already undone can differ from the past: the tombstone of an added feed stays,
    and so does each guid that devices were sent (C9.13).
    """
    if not groups:
        return set()
    trial = Draft(snapshot)
    with suppress(InvalidInput):  # too many pointers: checked last, after all changes
        restore_entries(trial, past, set().union(*groups), keep_added=False)
    now = snapshot.entries
    return set().union(
        *(group for group in groups if any(trial.get(guid) != now.get(guid) for guid in group))
    )


def _list_restored(draft: Draft, left: int) -> Decision[ListRestored]:
    decision = draft.decision(None)
    if not decision.saved and not decision.forgotten:  # C9.20
        return decision.telling(ListRestored(None, 0, left))
    feeds = [entry for entry in decision.saved if isinstance(entry, Subscription)]
    podcasts: set[Guid] = set()
    for feed in feeds:
        if feed.is_subscribed and feed.status_changed >= decision.stamp:
            podcasts |= {feed.guid, *draft.pointers_to(feed.guid)}
    return decision.telling(ListRestored(decision.stamp, len(feeds), left, frozenset(podcasts)))


def _count_feeds(entries: Mapping[Guid, Entry], guids: Iterable[Guid]) -> int:
    return len({target_guid(entries[guid]) for guid in guids if guid in entries})
