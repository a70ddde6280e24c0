"""The account's list, for the Open Podcast API and the commands (contract, sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import (
    Account,
    AccountId,
    Admitted,
    Author,
    Deletion,
    Guid,
    Page,
    PageRequest,
    Snapshot,
    Subscription,
    View,
)
from feedkeep.model.errors import InvalidInput, UnknownSubscription
from feedkeep.rules import database_restores, subscriptions
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.guids import guid_or_none, parse_guid
from feedkeep.rules.subscriptions import Added, IsExpected, Refused, Update, Updated, Wanted
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.service.list_changes import Changed, ListChanges
from feedkeep.store.base import Store


class Subscriptions:
    """Adds, reads, changes, deletes and lists subscriptions; `by` is the author."""

    def __init__(self, store: Store, changes: ListChanges) -> None:
        self._store = store
        self._changes = changes

    async def add(
        self, account_id: AccountId, items: Sequence[Wanted | Refused], author: Author
    ) -> Changed[list[Added | Refused]]:
        """Add all items in one step (C5.2); each is accepted or refused separately."""
        return await self._changes.make(
            account_id,
            subscriptions.guids_wanted(items),
            lambda snapshot: subscriptions.add(snapshot, items),
            author,
        )

    async def preview_add(
        self, account_id: AccountId, items: Sequence[Wanted | Refused]
    ) -> list[Added | Refused]:
        whole = await self._changes.whole(account_id)
        is_long = len(items) + len(whole.entries) > LONG_LIST
        decision = await in_thread_if(is_long, subscriptions.add, whole, items)
        return decision.outcome

    def read(self, admitted: Admitted, guid: str) -> View:
        """Return the entry of `guid`, which `Authentication.admit` has already loaded.

        Raises:
            InvalidInput: `guid` is not a guid.
            UnknownSubscription: The account has no such entry.
            DeletedSubscription: `guid` resolves to a deleted subscription.
        """
        parse_guid(guid)
        return subscriptions.read(admitted.view)

    async def update(
        self,
        account_id: AccountId,
        guid: str,
        wanted: Update,
        author: Author,
        is_expected: IsExpected | None = None,
    ) -> Updated:
        """Change a subscription in one step or not at all.

        Raises:
            InvalidInput: `guid` is not a guid, or the URL belongs to another subscription.
            UnknownSubscription: The subscription does not exist or is deleted.
            PreconditionFailed: The entry of `guid` is not the expected one.
        """
        changed = await self._update(account_id, parse_guid(guid), wanted, author, is_expected)
        return changed.outcome

    async def merge(
        self, account_id: AccountId, guid: Guid, other_url: str, author: Author
    ) -> Changed[Guid]:
        """Merge a subscription with the subscription of another URL; return the common guid.

        The first subscription's URL remains.

        Raises:
            InvalidInput: The URL is invalid, or no other subscription has it.
            UnknownSubscription: The subscription does not exist or is deleted.
        """
        other = await self._store.entries.view(account_id, parse_feed_url(other_url).guid)
        if other is None or other.subscription.guid == guid:
            raise InvalidInput("There is no other feed with this address in your list.")
        wanted = other.subscription.guid
        changed = await self._update(account_id, guid, Update(new_guid=wanted), author)
        return Changed(wanted, changed.stamp)

    async def _update(
        self,
        account_id: AccountId,
        guid: Guid,
        wanted: Update,
        author: Author,
        is_expected: IsExpected | None = None,
    ) -> Changed[Updated]:
        return await self._changes.make_for_apps(
            account_id,
            [guid, *wanted.guids()],
            lambda snapshot, held: subscriptions.update(snapshot, guid, wanted, held, is_expected),
            author,
        )

    async def set_subscribed(
        self, account_id: AccountId, guids: Sequence[str], is_subscribed: bool, author: Author
    ) -> Changed[int]:
        """Subscribe or unsubscribe feeds of the list in one step; return the number of changes.

        Unknown guids are skipped.

        Raises:
            InvalidInput: The list exceeds its limits; nothing is changed.
        """
        known = await in_thread_if(len(guids) > LONG_LIST, _guids_in, guids)
        return await self._changes.make(
            account_id,
            known,
            lambda snapshot: subscriptions.set_subscribed(snapshot, known, is_subscribed),
            author,
        )

    async def delete(
        self,
        account_id: AccountId,
        guid: str,
        author: Author,
        is_expected: IsExpected | None = None,
    ) -> Changed[Deletion]:
        """Delete a subscription, leaving a tombstone.

        Raises:
            InvalidInput: `guid` is not a guid.
            UnknownSubscription: The subscription does not exist or is already deleted.
            PreconditionFailed: The entry of `guid` is not the expected one.
        """
        present = parse_guid(guid)
        return await self._changes.make(
            account_id,
            [present],
            lambda snapshot: subscriptions.delete(snapshot, present, is_expected),
            author,
        )

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion:
        """Return a completed deletion.

        Raises:
            UnknownSubscription: The account has no deletion with that id.
        """
        found = await self._store.entries.deletion(account_id, deletion_id)
        if found is None:
            raise UnknownSubscription
        return found

    async def page(self, account: Account, request: PageRequest) -> Page:
        """Return a page of the entries changed since a timestamp, or of the list to read instead.

        The account, as read with the credential, shows whether a restore has lost data that the
        client has. If it shows no changes since the timestamp, the store is not read again.
        """
        wanted = database_restores.page_to_read(account, request)
        if wanted.since == account.last_stamp:
            return Page(0, (), has_more=False)
        return await self._store.entries.page(account.id, wanted)

    async def view(self, account_id: AccountId, guid: str) -> View | None:
        """Resolve a guid to its entry and subscription; None if unknown."""
        known = guid_or_none(guid)
        return await self._store.entries.view(account_id, known) if known else None

    async def whole(self, account_id: AccountId) -> Snapshot:
        """Return all entries of an account, read at one time."""
        return await self._store.entries.whole(account_id)

    async def subscribed(self, account_id: AccountId) -> list[Subscription]:
        """Return all subscribed feeds of the account, the oldest change first."""
        whole = await self._store.entries.whole(account_id)
        return await in_thread_if(len(whole.entries) > LONG_LIST, subscriptions.subscribed, whole)


def _guids_in(texts: Sequence[str]) -> list[Guid]:
    return [found for text in texts if (found := guid_or_none(text))]
