"""The input and the result of rules about lists, and the states of entries over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Generic

from feedkeep.model.accounts import Account
from feedkeep.model.documents import Document, DocumentName, KnownDocument
from feedkeep.model.entries import Counts, Entry, Limits
from feedkeep.model.progress import TokenProgress
from feedkeep.model.values import Guid, Second, Stamp, T, T_co, Value


class EntryState(Value, frozen=True):
    """An entry as it was between two of its changes.

    A change of stamps alone does not count: the state continues.

    Attributes:
        began: Stamp of the change that began this state; None if that was not loaded.
        author: Author of that change, as `service/list_changes` writes it; "" if unknown.
        ended: Stamp of the change that ended this state; None while it lasts.
    """

    entry: Entry
    began: Stamp | None = None
    author: str = ""
    ended: Stamp | None = None


class History(Value, frozen=True):
    """States of a list's entries, in any order.

    Attributes:
        known_from: Stamp from which every state of the list is stored.
    """

    states: Sequence[EntryState]
    known_from: Stamp


class HistoryPage(Value, frozen=True):
    """Consecutive changes of a list.

    Attributes:
        stamps: Stamps of the changes, newest first.
        states: All states that one of these changes began or ended.
        known_from: Stamp from which every state of the list is stored.
    """

    stamps: Sequence[Stamp]
    states: Sequence[EntryState]
    known_from: Stamp


class Deletion(Value, frozen=True):
    """A completed request to delete; clients can read it by its id.

    Attributes:
        id: Stamp of the deletion, unique in its account.
        guid: Guid of the deleted subscription.
    """

    id: int
    guid: Guid


class Snapshot(Value, frozen=True):
    """A rule's input: an account's clock and the requested entries, all read at one moment.

    Attributes:
        entries: The entries of the requested guids, the subscriptions they resolve to, and all
            pointers to these. A requested guid that is missing here is unknown to the account.
        last_stamp: The account's last stamp.
        now: The wall clock, as a stamp.
        counts: Counts of the whole list.
        documents: The requested documents.
        history: Former states of the list; None if they were not requested.
        limits: Limits of the list; None for decisions that add nothing to it.
    """

    entries: Mapping[Guid, Entry]
    last_stamp: Stamp
    now: Stamp
    counts: Counts
    documents: Mapping[DocumentName, KnownDocument] = {}
    history: History | None = None
    limits: Limits | None = None


class Restored(Value, frozen=True):
    """The changes that a restore of the database makes to an account.

    Attributes:
        account: The account with its new clocks and epoch, and the range of possibly lost changes.
        newest: The entry with the greatest revision, with a new stamp; None for an empty list.
    """

    account: Account
    newest: Entry | None


class Restamped(Value, frozen=True):
    """The changes to an account whose clocks were ahead.

    Attributes:
        account: The account with its new clocks.
        known_from: Stamp from which every state of its list is stored.
        stamps: The new stamp for each stamp of the list that was ahead.
        action_stamps: The new stamp for each stamp of an episode action that was ahead.
        sent: Second up to which each app that was ever sent anything counts as informed.
    """

    account: Account
    known_from: Stamp
    stamps: Mapping[Stamp, Stamp]
    action_stamps: Mapping[Stamp, Stamp]
    sent: Second


class Decision(Value, Generic[T_co], frozen=True):
    """A rule's result: the changes to store, and the outcome for the caller.

    Attributes:
        saved: Entries that are new or changed; no guid occurs twice.
        forgotten: Guids of the entries to remove.
        last_stamp: The account's clock after this operation.
        counts: Counts of the whole list after this operation.
        deletion: The deletion to store; None if nothing was deleted.
        documents: New or changed documents, all among the requested ones; no document occurs twice.
        token_progress: The app's new sync progress; None to keep the stored one.
        stamp: Stamp of this change of the list: no entry's new stamp is smaller. All that one
            decision saves is one change (C9.5).
        ended: Guids of entries, saved or forgotten, whose former state ended with this change.
        restamped: Guids of saved entries of which only stamps changed, so that their state
            continues.
    """

    outcome: T_co
    saved: Sequence[Entry]
    forgotten: Sequence[Guid]
    last_stamp: Stamp
    counts: Counts
    deletion: Deletion | None = None
    documents: Sequence[Document] = ()
    token_progress: TokenProgress | None = None
    stamp: Stamp = Stamp(0)
    ended: Sequence[Guid] = ()
    restamped: Collection[Guid] = ()

    def telling(self, outcome: T) -> Decision[T]:
        entries = (self.saved, self.forgotten, self.last_stamp, self.counts, self.deletion)
        others = (self.documents, self.token_progress, self.stamp, self.ended, self.restamped)
        return Decision(outcome, *entries, *others)
