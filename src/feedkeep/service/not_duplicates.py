"""Pairs of feeds that a person has marked as different, although they look alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from feedkeep.model import AccountId, DocumentKind, Guid
from feedkeep.rules.duplicates import Pair, keep_apart
from feedkeep.service.documents import as_json
from feedkeep.store.base import Store

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
