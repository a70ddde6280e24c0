"""What came from other servers so far, so that coming again brings only what is new."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from feedkeep.model import AccountId, DocumentKind, Second, Value
from feedkeep.rules import seconds
from feedkeep.service.documents import as_json, short_name
from feedkeep.store.base import Store


class Migrated(Value, frozen=True):
    """What came from another server so far.

    Attributes:
        until: The second there up to which episode actions came.
        feeds: The URLs that were subscribed to there; what became of them here since is left alone.
    """

    until: Second = seconds.FROM_NOTHING
    feeds: Sequence[str] = ()


_MIGRATED = msgspec.json.Decoder(Migrated)


class Migrations:
    """How far each migration of each account came."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def so_far(self, account_id: AccountId, where: str) -> Migrated:
        """Return what came from another server so far."""
        body = await self._store.documents.body(
            account_id, DocumentKind.MIGRATION, short_name(where)
        )
        return _MIGRATED.decode(body) if body else Migrated()

    async def note(self, account_id: AccountId, where: str, so_far: Migrated) -> None:
        """Remember what came from another server so far."""
        body = as_json(so_far)
        await self._store.documents.change(
            account_id, DocumentKind.MIGRATION, short_name(where), lambda *_: body
        )
