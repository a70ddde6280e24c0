"""What the owners of lists call their feeds, and the folders that these are in."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import AccountId, FeedLabel, Guid, Labelled
from feedkeep.rules import feed_labels
from feedkeep.rules.feed_labels import FiledFeed, Labels
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.store.base import Store


class FeedLabels:
    """Reads the labels of a list, and takes those of imports and those that are typed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, account_id: AccountId) -> Labels:
        """Return the labels of an account's feeds."""
        found = await self._store.feed_labels.of(account_id)
        return await in_thread_if(len(found) > LONG_LIST, feed_labels.labels_of, found)

    async def edit(
        self, account_id: AccountId, guid: Guid, title: str, folder: str, own_title: str
    ) -> None:
        """Give the subscription with a present guid what its owner typed; see `edited`.

        Raises:
            NotAuthorized: The account is gone.
        """
        await self._store.feed_labels.change(
            account_id, lambda found: feed_labels.edited(found, guid, title, folder, own_title)
        )

    async def preview_take(self, account_id: AccountId, feeds: Sequence[FiledFeed]) -> int:
        """Return how many feeds of a list would get another label from a file."""
        told = _told(feeds)
        if not told:
            return 0
        whole = await self._store.entries.whole(account_id)
        found = await self._store.feed_labels.of(account_id)
        is_long = len(whole.entries) + len(told) > LONG_LIST
        return len(await in_thread_if(is_long, feed_labels.imported, found, whole, told))

    async def take(self, account_id: AccountId, feeds: Sequence[FiledFeed]) -> int:
        """Keep what a file calls the feeds of a list, once they are in it; return how many changed.

        It is another commit than that of the feeds, so that adding them reads and writes no label.
        To import the file once more takes what a crash in between has left out.

        Raises:
            NotAuthorized: The account is gone.
        """
        told = _told(feeds)
        if not told:
            return 0
        whole = await self._store.entries.whole(account_id)
        taken: Sequence[FeedLabel] = ()

        def decide(found: Sequence[Labelled]) -> Sequence[FeedLabel]:
            nonlocal taken
            taken = feed_labels.imported(found, whole, told)
            return taken

        await self._store.feed_labels.change(account_id, decide)
        return len(taken)


def _told(feeds: Sequence[FiledFeed]) -> list[FiledFeed]:
    return [feed for feed in feeds if feed.title or feed.folder]
