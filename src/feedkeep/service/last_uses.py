"""Record the last use of tokens and sessions, to the minute, without delaying requests."""

from __future__ import annotations

import asyncio
from itertools import islice

import structlog

from feedkeep.model import AccountId, Stamp, Token, TokenId
from feedkeep.rules.clock import MINUTE_US, minute_of
from feedkeep.runtime.tasks import end
from feedkeep.store.base import Store

MAX_WAITING = 4_096
"""Capacity of the queue of uses; further uses are recorded by a later request with the token."""

_AT_ONCE = 256
_CLOSE_SECONDS = 1.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class LastUses:
    """Stores the minute of each token's last use (C2.11), together with other work."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[tuple[AccountId, TokenId], Stamp] = {}
        self._work: asyncio.Task[None] | None = None
        self._is_failing = False

    def note(self, account_id: AccountId, used: Token, now: Stamp) -> None:
        """Record a use of a token now, unless already stored for this minute.

        The use of a session is also a use of its token.
        """
        # `last_used` is the start of a minute, so most requests need not compute theirs.
        if used.last_used is not None and now - used.last_used < MINUTE_US:
            return
        if len(self._waiting) >= MAX_WAITING:
            return
        minute = minute_of(now)
        for token_id in (used.id, used.of_token):
            if token_id is not None:
                self._waiting[account_id, token_id] = minute
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._store_all())

    async def close(self) -> None:
        """Store pending uses, for a second at most; call before the store is closed."""
        if self._work is not None:
            await asyncio.wait({self._work}, timeout=_CLOSE_SECONDS)
            await end(self._work)

    async def _store_all(self) -> None:
        while self._waiting:
            minute = next(iter(self._waiting.values()))
            used = [one for one, of in islice(self._waiting.items(), _AT_ONCE) if of == minute]
            try:
                await self._store.tokens.mark_used(used, minute)
                self._is_failing = False
            except Exception as error:  # noqa: BLE001 - no request waits, and a time may be lost
                # Each request records its use again: log an outage once.
                if not self._is_failing:
                    _log.warning("cannot store last use of tokens; will retry", reason=str(error))
                self._is_failing = True
                self._waiting.clear()
            for one in used:
                self._waiting.pop(one, None)
