"""How far everything was copied from other servers, so that the next run brings only the rest."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from feedkeep.model import AccountId, DocumentKind, Second, Value
from feedkeep.rules import seconds
from feedkeep.service.documents import as_json, short_name
from feedkeep.store.base import Store


class Migrated(Value, frozen=True):
    """How far everything was copied from another server.

    Attributes:
        until: The second, by that server's clock, up to which episode actions were copied.
        feeds: The URLs that were subscribed there in the last run. They are not added again, since
            the owner may have unsubscribed from them here.
    """

    until: Second = seconds.FROM_NOTHING
    feeds: Sequence[str] = ()


_MIGRATED = msgspec.json.Decoder(Migrated)


class Migrations:
    """How far each account was copied from each other server."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def so_far(self, account_id: AccountId, where: str) -> Migrated:
        """Return how far everything was copied from another server."""
        body = await self._store.documents.body(
            account_id, DocumentKind.MIGRATION, short_name(where)
        )
        return _MIGRATED.decode(body) if body else Migrated()

    async def note(self, account_id: AccountId, where: str, so_far: Migrated) -> None:
        """Store how far everything was copied from another server."""
        body = as_json(so_far)
        await self._store.documents.change(
            account_id, DocumentKind.MIGRATION, short_name(where), lambda *_: body
        )
