"""When each token and session was last used, to the minute; stored without delaying a request."""

from __future__ import annotations

import asyncio
from itertools import islice

import structlog

from feedkeep.model import AccountId, Stamp, Token, TokenId
from feedkeep.rules.clock import MINUTE_US, minute_of
from feedkeep.runtime.tasks import end
from feedkeep.store.base import Store

MAX_WAITING = 4_096
"""How many uses wait to be stored; further ones are left to the next request with that token."""

_AT_ONCE = 256
_CLOSE_SECONDS = 1.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class LastUses:
    """Stores in which minute tokens were used (C2.11): once a minute for each, with other work."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[tuple[AccountId, TokenId], Stamp] = {}
        self._work: asyncio.Task[None] | None = None
        self._is_failing = False

    def note(self, account_id: AccountId, used: Token, now: Stamp) -> None:
        """Note that a token was used now, unless that is stored for this minute already.

        The use of a session is also one of the token that it belongs to.
        """
        # `last_used` is the beginning of a minute. Each request asks: no other is worked out.
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
        """Store what is noted, unless that takes long; the store is still open."""
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
            except Exception as error:  # noqa: BLE001 - no request waits, and it is only a time
                # Each request notes its use anew: one line is enough until it works again.
                if not self._is_failing:
                    _log.warning("last use of tokens not stored", reason=str(error))
                self._is_failing = True
                self._waiting.clear()
            for one in used:
                self._waiting.pop(one, None)
