"""Protocol for storing the present and former states of entries."""

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
"""Maximum number of stored deletions of an account (C6.13); a new one replaces the oldest."""


MAX_ESCAPED = 5_000
"""Maximum number of entries of an account whose URLs `Entries.escaped` returns."""

MAX_FORMER_STATES = 100_000
"""Maximum weight of an account's former states (C9.1); new ones replace the oldest."""


class Entries(Protocol):
    """The entries of all lists: subscriptions, and the pointers that resolve to them."""

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
        """Load entries and documents, call `decide`, and save its decision in one commit.

        If `guids` is None, every entry of the account is loaded, for a rule that needs the whole
        list. With `history_from` as well, the snapshot has all present states and every state that
        ended at that stamp or later.

        States that the change ends are stored, and `author` is stored as the author of the new
        states. Without an author no history is kept: the list's history starts with this change.

        This is the only way to write entries. Changes of one account are serialized (C8.2):
        `decide` sees every earlier committed change. `decide` must be pure, and may run more than
        once. Returns the decision's outcome once the commit is durable (C8.1).

        Raises:
            NotAuthorized: The account is deleted.
            FeedkeepError: `decide` raised it; nothing is changed.
        """

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        """Return the entry of `guid`, if it exists, with the subscription that it resolves to."""

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        """Return a page of announced entries by rising revision (C6.1), read at one moment."""

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        """Return the deletion with an id, if it is stored."""

    async def whole(self, account_id: AccountId, history_from: Stamp | None = None) -> Snapshot:
        """Return all entries of an account, read at one moment; `history_from` as in `change`.

        Raises:
            NotAuthorized: The account is deleted.
        """

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        """Return every announced entry with a revision of at least `first`, in any order.

        For each returned subscription, all pointers to it that have an alias are included.
        """

    async def escaped(self, account_id: AccountId) -> Sequence[str]:
        """Return the URLs with a "%" of an account's present and former feeds.

        Only the first `MAX_ESCAPED` entries with such a URL, by guid, are read.
        """
