"""What a rule is given of a list, and what it returns.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Generic

from feedkeep.model.accounts import Account
from feedkeep.model.documents import Document, DocumentName, KnownDocument
from feedkeep.model.entries import Counts, Entry
from feedkeep.model.history import History
from feedkeep.model.progress import TokenProgress
from feedkeep.model.values import Guid, Second, Stamp, T, T_co, Value


class Deletion(Value, frozen=True):
    """A request to delete that was carried out; clients can read it by its id.

    Attributes:
        id: The stamp of the deletion, which makes it unique in its account.
        guid: The guid of the subscription that was deleted.
    """

    id: int
    guid: Guid


class Snapshot(Value, frozen=True):
    """What a rule is given: an account's clock and the entries that it asked for, at one moment.

    Attributes:
        entries: The entries of the guids asked for, the subscriptions they lead to, and all
            pointers to these. A guid asked for that is not in it is unknown to the account.
        last_stamp: The account's last stamp.
        now: The wall clock, as a stamp.
        counts: How much is in the whole list.
        documents: The documents asked for.
        history: The former states of the list, if they were asked for.
    """

    entries: Mapping[Guid, Entry]
    last_stamp: Stamp
    now: Stamp
    counts: Counts
    documents: Mapping[DocumentName, KnownDocument] = {}
    history: History | None = None


class Restored(Value, frozen=True):
    """What a restore of the database changes of an account.

    Attributes:
        account: The account with its new clocks and epoch, and what may have been lost.
        newest: The entry with the greatest revision, stamped anew; None if the list has none.
    """

    account: Account
    newest: Entry | None


class Restamped(Value, frozen=True):
    """What becomes of an account whose clocks were ahead.

    Attributes:
        account: The account with its new clocks.
        known_from: The stamp from which on every state of its list is known.
        stamps: The new stamp for each stamp of the list that was ahead.
        action_stamps: The new stamp for each of an episode action.
        told: The second up to which each app counts as informed that was sent anything.
    """

    account: Account
    known_from: Stamp
    stamps: Mapping[Stamp, Stamp]
    action_stamps: Mapping[Stamp, Stamp]
    told: Second


class Decision(Value, Generic[T_co], frozen=True):
    """What a rule returns: what has to change, and the outcome for the caller.

    Attributes:
        outcome: What the caller is given.
        saved: Entries that are new or changed; no guid occurs twice.
        forgotten: Guids whose entries are to be removed.
        last_stamp: The account's clock after this operation.
        counts: How much is in the whole list after it.
        deletion: The deletion to store, if there was one.
        documents: Documents that are new or changed, all among those asked for; none occurs twice.
        token_progress: How far an app knows what changed, if that is to be stored, too.
        stamp: The stamp of this change of the list: no entry's new stamp is smaller. All that one
            decision saves is one change (C9.5).
        ended: Guids of entries, saved or forgotten, whose state before ended with this change.
        restamped: Guids of saved entries of which only stamps changed: their state goes on.
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
        """Return the same decision with another outcome."""
        entries = (self.saved, self.forgotten, self.last_stamp, self.counts, self.deletion)
        others = (self.documents, self.token_progress, self.stamp, self.ended, self.restamped)
        return Decision(outcome, *entries, *others)
