"""The history of lists: changes, undo, and restoring a list as of a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import structlog

from feedkeep.model import (
    AccountId,
    Author,
    Decision,
    EntryState,
    Guid,
    HistoryPage,
    Now,
    Snapshot,
    Stamp,
    Value,
    replace,
)
from feedkeep.model.errors import InvalidInput, UnknownChange
from feedkeep.rules import undo
from feedkeep.rules.clock import DAY_US, is_before_its_time, shift
from feedkeep.rules.list_changes import FeedChange, ListChange, changes_on, differences
from feedkeep.rules.mass_unsubscribes import (
    MassUnsubscribe,
    mass_unsubscribes,
    may_have_mass_unsubscribe,
)
from feedkeep.rules.undo import ListAt, ListRestored, Undo
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.service.episode_actions import EpisodeActions
from feedkeep.service.list_changes import ListChanges, read_author
from feedkeep.store.base import Store

NEWEST = Stamp(2**63 - 1)
"""Greater than every timestamp in use."""

_CHANGES_SEARCHED = 500
"""An app of the Open Podcast API empties a list by one change for each feed."""

_ASKED_ABOUT_DAYS = 30

Decide: TypeAlias = Callable[[Snapshot, Collection[Guid]], Decision[ListRestored]]
"""Decides what to restore, given the URLs that apps have for moved feeds."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class ListedChanges(Value, frozen=True):
    """Changes of a list, newest first.

    Attributes:
        authors: Authors by their stored text.
        known_from: Beginning of the known history.
        has_more: Whether there are earlier changes.
    """

    changes: Sequence[ListChange]
    authors: Mapping[str, Author]
    known_from: Stamp
    has_more: bool

    def author_of(self, change: ListChange | MassUnsubscribe) -> Author | None:
        return self.authors.get(change.author)


class RestorePreview(Value, frozen=True):
    """The effect of restoring a list.

    Attributes:
        feeds: Changes of feeds, in order of URLs.
        left: Number of feeds that stay, since they were changed again.
        ahead_until: End of the time in which the list's clock is ahead, if changes made before the
            restored time may count as later for that reason.
    """

    feeds: Sequence[FeedChange]
    left: int
    ahead_until: Stamp | None = None


class ListHistory:
    """Reads the history of lists, and restores from it."""

    def __init__(
        self,
        store: Store,
        changes: ListChanges,
        actions: EpisodeActions,
        now: Now,
        history_days: int,
    ) -> None:
        self._store = store
        self._changes = changes
        self._actions = actions
        self._now = now
        self._days = history_days

    @property
    def days(self) -> int:
        """Retention in days; 0 means no history."""
        return self._days

    async def page(
        self,
        account_id: AccountId,
        before: Stamp = NEWEST,
        per_page: int = 50,
    ) -> ListedChanges:
        """Return the newest changes before a timestamp; none without a history (C9.3)."""
        found = await self._store.history.page(account_id, before, per_page + 1)
        known_from = max(found.known_from, self._horizon())
        stamps = [stamp for stamp in found.stamps if stamp > known_from] if self._days else []
        shown = replace(found, stamps=stamps[:per_page], known_from=known_from)
        whole = await self._store.entries.whole(account_id)
        return await _listed(shown, whole, has_more=len(stamps) > per_page)

    async def feeds_of_change(self, account_id: AccountId, stamp: Stamp) -> Sequence[FeedChange]:
        """Return the effects of a stored change on feeds; empty if there is no such change."""
        listed = await self.page(account_id, shift(stamp, 1), per_page=1)
        return next((change.feeds for change in listed.changes if change.stamp == stamp), ())

    async def known_from(self, account_id: AccountId) -> Stamp:
        """Return the stamp from which on a history is known."""
        found = await self._store.history.page(account_id, NEWEST, 1)
        return max(found.known_from, self._horizon())

    async def of_feed(
        self, account_id: AccountId, guids: Sequence[Guid], whole: Snapshot, count: int
    ) -> ListedChanges:
        """Return the newest changes of a feed; `guids` are its current and former guids.

        `whole` is the current list.
        """
        states: list[EntryState] = []
        stamps: set[Stamp] = set()
        known_from = self._horizon()
        for guid in guids if self._days else ():
            found = await self._store.history.page(account_id, NEWEST, count + 1, guid)
            states += found.states
            stamps.update(found.stamps)
            known_from = max(known_from, found.known_from)
        newest = sorted((stamp for stamp in stamps if stamp > known_from), reverse=True)
        shown = HistoryPage(newest[:count], states, known_from)
        return await _listed(shown, whole, has_more=len(newest) > count)

    async def newest_mass_unsubscribe(
        self, account_id: AccountId, whole: Snapshot, after: Stamp
    ) -> tuple[MassUnsubscribe, Author | None] | None:
        """Return the newest mass unsubscribe that is still in effect, with its author.

        Only changes after `after` and in the last 30 days count. `whole` is the current list. The
        history is not read if only a small part of the list was removed, as in nearly every list.
        """
        since = max(after, shift(self._now(), -_ASKED_ABOUT_DAYS * DAY_US))
        entries, subscribed = whole.entries, whole.counts.subscribed
        is_long = len(entries) > LONG_LIST
        if not self._days or not await in_thread_if(
            is_long, may_have_mass_unsubscribe, entries, subscribed, since
        ):
            return None
        found = await self._store.history.page(account_id, NEWEST, _CHANGES_SEARCHED)
        known_from = max(found.known_from, self._horizon())
        stamps = [stamp for stamp in found.stamps if stamp > max(known_from, since)]
        listed = await _listed(replace(found, stamps=stamps), whole, has_more=False)
        is_long = sum(len(change.feeds) for change in listed.changes) > LONG_LIST
        matches = await in_thread_if(
            is_long, mass_unsubscribes, listed.changes, listed.authors, entries, subscribed
        )
        return (matches[0], listed.author_of(matches[0])) if matches else None

    async def undo(self, account_id: AccountId, wanted: Undo, author: Author) -> ListRestored:
        """Undo changes in one step or not at all; the result can be undone, too.

        Raises:
            UnknownChange: There is no such change.
            ChangedSince: Feeds have changed since, and the client chose no policy.
            InvalidInput: The history does not reach back so far, or the list exceeds its limits.
        """
        await self._check_there(account_id, wanted)
        return await self._restore(account_id, self._undoing(wanted), _first(wanted), author)

    async def restore_removed(
        self, account_id: AccountId, stamps: Collection[Stamp], author: Author
    ) -> ListRestored:
        """Subscribe again to feeds last removed by these changes, in one step or not at all.

        Raises:
            InvalidInput: The list exceeds its limits.
        """
        some = sorted(stamps, reverse=True)[:_CHANGES_SEARCHED]

        def decide(snapshot: Snapshot, held: Collection[Guid]) -> Decision[ListRestored]:
            return undo.restore_removed(self._within(snapshot), some, held)

        return await self._restore(account_id, decide, min(some, default=NEWEST), author)

    async def preview_undo(self, account_id: AccountId, wanted: Undo) -> RestorePreview:
        """Preview `undo`; raises the same errors."""
        await self._check_there(account_id, wanted)
        return await self._preview(account_id, self._undoing(wanted), _first(wanted))

    async def restore(
        self, account_id: AccountId, moment: Stamp, *, keep_added: bool, author: Author
    ) -> ListRestored:
        """Restore a list as of a time, in one step or not at all (C9.15).

        Feeds added since then stay with `keep_added`; otherwise they are deleted.

        Raises:
            InvalidInput: The history does not reach back so far, or the list exceeds its limits.
        """
        decide = self._restoring(moment, keep_added=keep_added)
        return await self._restore(account_id, decide, moment, author)

    async def preview(
        self, account_id: AccountId, moment: Stamp, *, keep_added: bool
    ) -> RestorePreview:
        """Preview `restore` (C9.14); raises the same errors."""
        decide = self._restoring(moment, keep_added=keep_added)
        return await self._preview(account_id, decide, moment)

    async def list_at(self, account_id: AccountId, moment: Stamp | None = None) -> ListAt:
        """Return the whole list as of a time; the current list by default.

        Raises:
            InvalidInput: The history does not reach back so far.
        """
        whole = await self._store.entries.whole(account_id, moment)
        if moment is None:
            return ListAt(whole.entries, whole.last_stamp)
        return undo.list_at(whole, moment)

    async def restore_from(
        self, account_id: AccountId, wanted: ListAt, *, keep_added: bool, author: Author
    ) -> ListRestored:
        """Restore a list from a backup of its account, as `restore` does."""
        decide = self._restoring_from(wanted, keep_added=keep_added)
        return await self._restore(account_id, decide, wanted.moment, author)

    async def preview_from(
        self, account_id: AccountId, wanted: ListAt, *, keep_added: bool
    ) -> RestorePreview:
        """Preview `restore_from`; raises the same errors."""
        decide = self._restoring_from(wanted, keep_added=keep_added)
        return await self._preview(account_id, decide, wanted.moment)

    def _restoring_from(self, wanted: ListAt, *, keep_added: bool) -> Decide:
        return lambda snapshot, held: undo.restore_from(
            snapshot, wanted, keep_added=keep_added, held=held
        )

    def _undoing(self, wanted: Undo) -> Decide:
        return lambda snapshot, held: undo.undo(self._within(snapshot), wanted, held)

    def _restoring(self, moment: Stamp, *, keep_added: bool) -> Decide:
        return lambda snapshot, held: undo.restore(
            self._within(snapshot),
            moment,
            keep_added=keep_added,
            held=held,
        )

    async def _restore(
        self, account_id: AccountId, decide: Decide, first: Stamp, author: Author
    ) -> ListRestored:
        self._check_kept()
        made = await self._changes.make_for_apps(
            account_id, None, decide, author, history_from=first
        )
        # An app that was sent the removal of a feed has deleted its episode actions.
        await self._actions.resend(account_id, made.outcome.podcasts)
        return made.outcome

    async def _preview(self, account_id: AccountId, decide: Decide, first: Stamp) -> RestorePreview:
        self._check_kept()
        whole = await self._changes.whole(account_id, first)

        def look() -> RestorePreview:
            decision = decide(whole, ())
            after = {entry.guid: entry for entry in decision.saved}
            changed = {*after, *decision.forgotten}
            before = {guid: whole.entries[guid] for guid in changed if guid in whole.entries}
            feeds = differences(before, after, whole.entries) if changed else []
            is_unsure = is_before_its_time(first, whole.last_stamp, whole.now)
            ahead_until = whole.last_stamp if is_unsure else None
            return RestorePreview(feeds, decision.outcome.left, ahead_until)

        return await in_thread_if(len(whole.entries) > LONG_LIST, look)

    async def _check_there(self, account_id: AccountId, wanted: Undo) -> None:
        """Check that the changes exist, before all states since then are loaded."""
        self._check_kept()
        if not await self._store.history.is_any_there(account_id, wanted.stamps):
            raise UnknownChange

    def _check_kept(self) -> None:
        if not self._days:  # C9.3
            raise InvalidInput("No history is kept here, so nothing can be brought back.")

    def _horizon(self) -> Stamp:
        return shift(self._now(), -self._days * DAY_US)

    def _within(self, snapshot: Snapshot) -> Snapshot:
        """Limit the history of a snapshot to the promised retention (C9.1)."""
        known = snapshot.history
        assert known is not None, "the history was asked for"
        shown = replace(known, known_from=max(known.known_from, self._horizon()))
        return replace(snapshot, history=shown)


async def _listed(shown: HistoryPage, whole: Snapshot, *, has_more: bool) -> ListedChanges:
    is_long = len(shown.states) + len(whole.entries) > LONG_LIST
    changes = await in_thread_if(is_long, changes_on, shown, whole.entries)
    stored = {change.author for change in changes}
    authors = {text: author for text in stored if (author := read_author(text))}
    return ListedChanges(changes, authors, shown.known_from, has_more)


def _first(wanted: Undo) -> Stamp:
    return min(wanted.stamps, default=NEWEST)
