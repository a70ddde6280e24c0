"""What the owners of lists call their feeds, and the folders that these are in."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import AccountId, Guid
from feedkeep.rules import feed_labels
from feedkeep.rules.feed_labels import FiledFeed, Labels
from feedkeep.store.base import Store
from feedkeep.turns import LONG_LIST, beside


class FeedLabels:
    """Reads the labels of a list, and takes those of imports and those that are typed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, account_id: AccountId) -> Labels:
        """Return the labels of an account's feeds."""
        found = await self._store.feed_labels.of(account_id)
        return await beside(len(found) > LONG_LIST, feed_labels.labels_of, found)

    async def edit(self, account_id: AccountId, guid: Guid, title: str, folder: str) -> None:
        """Give the subscription with a present guid what its owner typed.

        Raises:
            NotAuthorized: The account is gone.
        """
        await self._store.feed_labels.change(
            account_id, lambda found: feed_labels.edited(found, guid, title, folder)
        )

    async def take(self, account_id: AccountId, feeds: Sequence[FiledFeed]) -> None:
        """Keep what a file calls the feeds of a list, once they are in it.

        It is another commit than that of the feeds, so that adding them reads and writes no label.
        To import the file once more takes what a crash in between has left out.

        Raises:
            NotAuthorized: The account is gone.
        """
        told = [feed for feed in feeds if feed.title or feed.folder]
        if told:
            whole = await self._store.entries.whole(account_id)
            await self._store.feed_labels.change(
                account_id, lambda found: feed_labels.imported(found, whole, told)
            )
