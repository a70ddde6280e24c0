"""Storing the entries of lists, and the states that they were in before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from feedkeep.model import (
    AccountId,
    Decision,
    Deletion,
    DocumentSelector,
    Entry,
    Guid,
    Page,
    PageRequest,
    Snapshot,
    Stamp,
    T,
    View,
)

MAX_DELETIONS = 10_000
"""How many deletions of an account are stored (C6.13); a new one replaces the oldest."""


MAX_ESCAPED = 5_000
"""Of how many entries of an account `Entries.escaped` returns the URLs."""

MAX_FORMER_STATES = 100_000
"""Maximum weight of an account's former states (C9.1); new ones replace the oldest."""


class Entries(Protocol):
    """The entries of all lists: subscriptions, and the pointers that lead to them."""

    async def change(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
        documents: Sequence[DocumentSelector] = (),
        *,
        author: str | None = None,
        history_from: Stamp | None = None,
    ) -> T:
        """Load what `guids` and `documents` name, let `decide` say what changes, save, commit.

        If `guids` is None, every entry of the account is loaded, for a rule that needs the whole
        list. With `history_from` as well, the snapshot has every state that ended then or later,
        and all present ones.

        The states that end with the change are stored, and of the new ones that `author` made them.
        Without an author no history is kept: the list is known from this change on.

        This is the only way to write entries. Changes of one account happen one after the other
        (C8.2): `decide` sees what every change before it committed. `decide` has to be pure, and
        may run more than once. Returns the decision's outcome once the commit is durable (C8.1).

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        """Return the entry of `guid`, if there is one, with the subscription that it leads to."""

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        """Return a page of announced entries by rising revision (C6.1), all read at one moment."""

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        """Return the deletion with that id, if it is stored."""

    async def whole(self, account_id: AccountId, history_from: Stamp | None = None) -> Snapshot:
        """Return all entries of an account, all read at one moment; `history_from` as in `change`.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        """Return every announced entry with a revision of at least `first`, in any order.

        For each subscription among them, all pointers to it that have an alias are returned, too.
        """

    async def escaped(self, account_id: AccountId) -> Sequence[str]:
        """Return the URLs with a "%" in them of an account's feeds, present and former ones.

        Only those of the first `MAX_ESCAPED` entries that have any, by guid; no others are read.
        """
