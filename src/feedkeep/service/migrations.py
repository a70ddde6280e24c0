"""How far everything was copied from other servers, so that the next run brings only the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import structlog

from feedkeep.model import AccountId, DocumentKind, Second, Stamp, Value
from feedkeep.model.errors import NotAuthorized, StoreUnavailable
from feedkeep.rules import seconds
from feedkeep.rules.clock import MINUTE_US, later
from feedkeep.runtime.tasks import end
from feedkeep.service.documents import as_json, short_name
from feedkeep.store.base import Store

_PAGE = "page"


class Migrated(Value, frozen=True):
    """How far everything was copied from another server.

    Attributes:
        until: The second, by that server's clock, up to which episode actions were copied.
        feeds: The URLs that were subscribed there in the last run. They are not added again, since
            the owner may have unsubscribed from them here.
    """

    until: Second = seconds.FROM_NOTHING
    feeds: Sequence[str] = ()


MAX_MOVES = 8
"""For how many accounts each process copies at the same time."""

MOVE_SECONDS = 3_600.0
"""For how long: another server may be slow on purpose, and others wait for the room."""

_SILENT_US = 15 * MINUTE_US
"""After how long without a word a move was interrupted; a reply takes ten minutes at most."""


class Moving(Value, frozen=True):
    """How far it is to copy from another server what was played, as a page shows it.

    Attributes:
        host: The other server.
        at: When this was stored.
        done: How many episode actions were copied.
        is_done: Whether that is all.
        problem: Why it ended before, as a sentence of text; "" if it did not.
    """

    host: str
    at: Stamp
    done: int = 0
    is_done: bool = False
    problem: str = ""

    def is_under_way(self, now: Stamp) -> bool:
        """Say whether it goes on; one that says nothing for long was interrupted."""
        return not self.is_done and not self.problem and now < later(self.at, _SILENT_US)


_log: structlog.stdlib.BoundLogger = structlog.get_logger()
_MOVING = msgspec.json.Decoder(Moving)
_MIGRATED = msgspec.json.Decoder(Migrated)


class Migrations:
    """How far each account was copied from each other server; and copying, beside requests."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._under_way: dict[AccountId, asyncio.Task[None]] = {}

    def may_begin(self, account_id: AccountId) -> bool:
        """Say whether there is room to copy for an account: once at a time, and for a few."""
        return account_id not in self._under_way and len(self._under_way) < MAX_MOVES

    def begin(self, account_id: AccountId, work: Callable[[], Awaitable[None]]) -> None:
        """Copy for an account that `may_begin`, beside requests and for an hour at most."""
        task = asyncio.create_task(self._in_time(account_id, work))
        self._under_way[account_id] = task
        task.add_done_callback(lambda _: self._under_way.pop(account_id))

    async def _in_time(self, account_id: AccountId, work: Callable[[], Awaitable[None]]) -> None:
        """Carry out some work; what it has copied stays if it does not come to its end."""
        try:
            async with asyncio.timeout(MOVE_SECONDS):
                await work()
        except (NotAuthorized, StoreUnavailable, TimeoutError) as error:
            _log.warning("moving in was interrupted", account=account_id, reason=repr(error))

    async def close(self) -> None:
        """Interrupt what is copied; the store is still open."""
        await end(*self._under_way.values())

    async def so_far(self, account_id: AccountId, where: str) -> Migrated:
        """Return how far everything was copied from another server."""
        body = await self._store.documents.body(
            account_id, DocumentKind.MIGRATION, short_name(where)
        )
        return _MIGRATED.decode(body) if body else Migrated()

    async def moving(self, account_id: AccountId) -> Moving | None:
        """Return how far the newest move that a page began is; None if there was none."""
        body = await self._store.documents.body(account_id, DocumentKind.MIGRATION, _PAGE)
        return _MOVING.decode(body) if body else None

    async def note_moving(self, account_id: AccountId, moving: Moving) -> None:
        """Store how far a move is that a page began."""
        body = as_json(moving)
        await self._store.documents.change(
            account_id, DocumentKind.MIGRATION, _PAGE, lambda *_: body
        )

    async def note(self, account_id: AccountId, where: str, so_far: Migrated) -> None:
        """Store how far everything was copied from another server."""
        body = as_json(so_far)
        await self._store.documents.change(
            account_id, DocumentKind.MIGRATION, short_name(where), lambda *_: body
        )
