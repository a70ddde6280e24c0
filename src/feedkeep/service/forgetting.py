"""Forgetting what is older than is promised, or deleted, in small steps beside other work."""

from __future__ import annotations

import asyncio
import secrets
import time

import structlog

from feedkeep.model import AccountId, Now
from feedkeep.rules.clock import DAY_US, day_of, later
from feedkeep.runtime.tasks import end
from feedkeep.service.steady_clock import SteadyClock
from feedkeep.store.base import Store

STATES_IN_A_STEP = 40
"""Which takes a millisecond on SQLite; a hundred took two."""
_SECONDS_BETWEEN_STEPS = 0.5
_SECONDS_BETWEEN_ROUNDS = 3_600.0
_SECONDS_AFTER_A_FAILURE = 60.0
_SECONDS_WHILE_IT_WAITS = 60.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Forgetting:
    """Goes round all accounts for as long as a process serves."""

    def __init__(self, store: Store, now: Now, history_days: int) -> None:
        self._store = store
        self._now = now
        self._days = history_days
        self._clock = SteadyClock(now, time.monotonic)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; `close` ends it."""
        self._task = asyncio.create_task(self._go_round())

    async def close(self) -> None:
        """End it at once; what the step under way had not committed is left to the next process."""
        await end(self._task)

    async def step(self, after: AccountId) -> AccountId | None:
        """Do one step; return the account to go on after, or None after the last one."""
        now = self._now()
        # By days, so that an account from which nothing goes is written once a day at most.
        until = later(day_of(now), -self._days * DAY_US) if self._days else now
        return await self._store.history.forget(
            after, until, STATES_IN_A_STEP, with_authors=self._days == 0
        )

    async def _go_round(self) -> None:
        # Several processes that start together begin at different accounts.
        after: AccountId | None = AccountId(secrets.randbits(63))
        begins = True
        while True:
            # Without a history, nothing depends on how old anything is.
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
            except Exception as error:  # noqa: BLE001 - whatever it is, it goes on later
                _log.warning("nothing could be forgotten for now", reason=repr(error))
                seconds = _SECONDS_AFTER_A_FAILURE
            await asyncio.sleep(seconds)
