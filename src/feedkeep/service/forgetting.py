"""Purge deleted and expired data in small steps in the background."""

from __future__ import annotations

import asyncio
import secrets
import time

import structlog

from feedkeep.model import AccountId, Now
from feedkeep.rules.clock import DAY_US, day_of, shift
from feedkeep.runtime.tasks import end
from feedkeep.service.steady_clock import SteadyClock
from feedkeep.store.base import Store

STATES_IN_A_STEP = 40
"""Takes a millisecond on SQLite; a hundred took two."""
_SECONDS_BETWEEN_STEPS = 0.5
_SECONDS_BETWEEN_ROUNDS = 3_600.0
_SECONDS_AFTER_A_FAILURE = 60.0
_SECONDS_WHILE_IT_WAITS = 60.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Forgetting:
    """Purges all accounts in turn while the process serves."""

    def __init__(self, store: Store, now: Now, history_days: int) -> None:
        self._store = store
        self._now = now
        self._days = history_days
        self._clock = SteadyClock(now, time.monotonic)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._go_round())

    async def close(self) -> None:
        """Stop at once; another process does the rest of an uncommitted step."""
        await end(self._task)

    async def step(self, after: AccountId) -> AccountId | None:
        """Do one step; return the account to continue after, or None after the last."""
        now = self._now()
        # In whole days, so that an account without expired data is written at most once a day.
        until = shift(day_of(now), -self._days * DAY_US) if self._days else now
        return await self._store.history.forget(
            after, until, STATES_IN_A_STEP, with_authors=self._days == 0
        )

    async def _go_round(self) -> None:
        # Processes that start together begin at different accounts.
        after: AccountId | None = AccountId(secrets.randbits(63))
        begins = True
        while True:
            # Without a history, nothing depends on ages.
            if not self._clock.is_believed() and self._days:
                await asyncio.sleep(_SECONDS_WHILE_IT_WAITS)
                continue
            seconds = _SECONDS_BETWEEN_STEPS
            try:
                if begins:
                    await self._store.accounts.finish_deleting()
                after = await self.step(after or AccountId(0))
                begins = after is None
                if after is None:
                    seconds = _SECONDS_BETWEEN_ROUNDS
            except Exception as error:  # noqa: BLE001 - continue later after any error
                _log.warning("cannot delete expired data; will retry", reason=repr(error))
                seconds = _SECONDS_AFTER_A_FAILURE
            await asyncio.sleep(seconds)
