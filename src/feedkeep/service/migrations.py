"""Progress of copying from other servers; each run continues where the last ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import structlog

from feedkeep.model import AccountId, DocumentKind, Second, Stamp, Value
from feedkeep.model.errors import NotAuthorized, StoreUnavailable
from feedkeep.rules import seconds
from feedkeep.rules.clock import MINUTE_US, shift
from feedkeep.runtime.tasks import end
from feedkeep.service.documents import as_json, short_name
from feedkeep.store.base import Store

_PAGE = "page"


class Migrated(Value, frozen=True):
    """Progress of copying from another server.

    Attributes:
        until: Second, on that server's clock, up to which episode actions were copied.
        feeds: URLs subscribed there in the last run. They are not added again, since the owner may
            have unsubscribed from them here.
    """

    until: Second = seconds.FROM_NOTHING
    feeds: Sequence[str] = ()


MAX_MOVES = 8
"""Maximum number of concurrent moves per process."""

MOVE_SECONDS = 3_600.0
"""Timeout of a move: another server may be slow on purpose, and moves are limited."""

_SILENT_US = 15 * MINUTE_US
"""Silence after which a move counts as interrupted; a reply takes at most ten minutes."""


class Moving(Value, frozen=True):
    """Progress of copying episode actions from another server, for a page.

    Attributes:
        done: Number of copied actions.
        problem: Reason of a failure, as a sentence; "" if none.
    """

    host: str
    at: Stamp
    done: int = 0
    is_done: bool = False
    problem: str = ""

    def is_under_way(self, now: Stamp) -> bool:
        """Whether the move continues; a long silence means that it was interrupted."""
        return not self.is_done and not self.problem and now < shift(self.at, _SILENT_US)


_log: structlog.stdlib.BoundLogger = structlog.get_logger()
_MOVING = msgspec.json.Decoder(Moving)
_MIGRATED = msgspec.json.Decoder(Migrated)


class Migrations:
    """Progress of each account's copy from each other server, and copying in the background."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._under_way: dict[AccountId, asyncio.Task[None]] = {}

    def may_begin(self, account_id: AccountId) -> bool:
        """Whether the account can start a move: one at a time, within `MAX_MOVES`."""
        return account_id not in self._under_way and len(self._under_way) < MAX_MOVES

    def begin(self, account_id: AccountId, work: Callable[[], Awaitable[None]]) -> None:
        """Start a move for an account that `may_begin`, in the background, for at most an hour."""
        task = asyncio.create_task(self._in_time(account_id, work))
        self._under_way[account_id] = task
        task.add_done_callback(lambda _: self._under_way.pop(account_id))

    async def _in_time(self, account_id: AccountId, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` with a timeout; what it has copied stays."""
        try:
            async with asyncio.timeout(MOVE_SECONDS):
                await work()
        except (NotAuthorized, StoreUnavailable, TimeoutError) as error:
            _log.warning("moving in interrupted", account=account_id, reason=repr(error))

    async def close(self) -> None:
        """Interrupt all moves; call before the store is closed."""
        await end(*self._under_way.values())

    async def so_far(self, account_id: AccountId, where: str) -> Migrated:
        body = await self._store.documents.body(
            account_id, DocumentKind.MIGRATION, short_name(where)
        )
        return _MIGRATED.decode(body) if body else Migrated()

    async def moving(self, account_id: AccountId) -> Moving | None:
        """Return the progress of the newest move started on a page, if any."""
        body = await self._store.documents.body(account_id, DocumentKind.MIGRATION, _PAGE)
        return _MOVING.decode(body) if body else None

    async def note_moving(self, account_id: AccountId, moving: Moving) -> None:
        body = as_json(moving)
        await self._store.documents.change(
            account_id, DocumentKind.MIGRATION, _PAGE, lambda *_: body
        )

    async def note(self, account_id: AccountId, where: str, so_far: Migrated) -> None:
        body = as_json(so_far)
        await self._store.documents.change(
            account_id, DocumentKind.MIGRATION, short_name(where), lambda *_: body
        )
