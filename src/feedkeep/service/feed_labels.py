"""Titles and folders that owners give their feeds, and feeds that they marked as different."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import msgspec

from feedkeep.model import AccountId, DocumentKind, FeedLabel, Guid, Labelled
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.duplicates import Pair, keep_apart
from feedkeep.rules.feed_labels import (
    FiledFeed,
    Labels,
    edited,
    filed,
    imported,
    labels_of,
    refiled,
    typed_folder,
)
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.service.documents import as_json
from feedkeep.store.base import DecideLabels, Store


class FeedLabels:
    """Reads the labels of a list, and changes them by imports and edits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, account_id: AccountId) -> Labels:
        found = await self._store.feed_labels.of(account_id)
        return await in_thread_if(len(found) > LONG_LIST, labels_of, found)

    async def edit(
        self, account_id: AccountId, guid: Guid, title: str, folder: str, own_title: str
    ) -> None:
        """Label the subscription with a current guid; see `edited`.

        Raises:
            NotAuthorized: The account is deleted.
        """
        await self._store.feed_labels.change(
            account_id, lambda found: edited(found, guid, title, folder, own_title)
        )

    async def preview_take(self, account_id: AccountId, feeds: Sequence[FiledFeed]) -> int:
        """Return the number of labels that `take` would change."""
        told = _told(feeds)
        if not told:
            return 0
        whole = await self._store.entries.whole(account_id)
        found = await self._store.feed_labels.of(account_id)
        is_long = len(whole.entries) + len(told) > LONG_LIST
        return len(await in_thread_if(is_long, imported, found, whole, told))

    async def take(self, account_id: AccountId, feeds: Sequence[FiledFeed]) -> int:
        """Import labels for feeds already in the list; return the number of changes.

        This is a separate commit after the feeds', so that adding feeds reads and writes no labels.
        After a crash in between, a repeated import adds the labels.

        Raises:
            NotAuthorized: The account is deleted.
        """
        told = _told(feeds)
        if not told:
            return 0
        whole = await self._store.entries.whole(account_id)
        return await self._change(account_id, partial(imported, whole=whole, feeds=told))

    async def file(self, account_id: AccountId, guids: Collection[str], folder: str) -> int:
        """Move feeds of the list into a folder; return the number of changes.

        Raises:
            NotAuthorized: The account is deleted.
        """
        whole = await self._store.entries.whole(account_id)
        return await self._change(
            account_id, partial(filed, whole=whole, guids=guids, folder=folder)
        )

    async def rename_folder(self, account_id: AccountId, folder: str, name: str) -> int:
        """Rename a folder, with the folders inside it; return the number of changes.

        Raises:
            InvalidInput: The name is empty, or too long for a folder with inner folders.
            NotAuthorized: The account is deleted.
        """
        if not typed_folder(name):
            raise InvalidInput("Type a name for this folder.")
        return await self._change(account_id, partial(refiled, folder=folder, name=name))

    async def remove_folder(self, account_id: AccountId, folder: str) -> int:
        """Remove a folder, with the folders inside it; return the number of changes.

        Raises:
            NotAuthorized: The account is deleted.
        """
        return await self._change(account_id, partial(refiled, folder=folder, name=""))

    async def _change(self, account_id: AccountId, decide: DecideLabels) -> int:
        changed: Sequence[FeedLabel] = ()

        def counted(found: Sequence[Labelled]) -> Sequence[FeedLabel]:
            nonlocal changed
            changed = decide(found)
            return changed

        await self._store.feed_labels.change(account_id, counted)
        return len(changed)


def _told(feeds: Sequence[FiledFeed]) -> list[FiledFeed]:
    return [feed for feed in feeds if feed.title or feed.folder]


_NAME = ""
_PAIRS = msgspec.json.Decoder(tuple[Pair, ...])


class NotDuplicates:
    """The pairs of each account that are not suggested as duplicates."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, account_id: AccountId) -> Collection[Pair]:
        body = await self._store.documents.body(account_id, DocumentKind.DIFFERENT_FEEDS, _NAME)
        return frozenset(_read(body))

    async def keep(self, account_id: AccountId, one: Guid, other: Guid) -> None:
        """Mark two feeds as different.

        Raises:
            NotAuthorized: The account is deleted.
        """

        def decide(body: str | None, _: int) -> str:
            return as_json(keep_apart(_read(body), one, other))

        await self._store.documents.change(account_id, DocumentKind.DIFFERENT_FEEDS, _NAME, decide)


def _read(body: str | None) -> Sequence[Pair]:
    return _PAIRS.decode(body) if body else ()
