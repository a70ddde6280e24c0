"""Purge deleted and expired data in small steps, while the wall clock can be trusted."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable

import structlog

from feedkeep.model import AccountId, Now
from feedkeep.rules.clock import DAY_US, SECOND_US, day_of, shift
from feedkeep.runtime.tasks import end
from feedkeep.store.base import Store

AFTER_START_SECONDS = 3_600.0
"""Time after the start in which the clock is not trusted: a machine may set it only then."""

AFTER_JUMP_SECONDS = 86_400.0
"""Time in which the clock is not trusted after a jump ahead by more than a day."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SteadyClock:
    """Compares the wall clock with a monotonic clock.

    A wall clock that runs years ahead for an hour, set by a wrong time server or by mistake, makes
    everything look old. A machine that slept looks the same, and is trusted a day later.
    """

    def __init__(self, now: Now, counted_seconds: Callable[[], float]) -> None:
        self._now = now
        self._counted_seconds = counted_seconds
        self._wall, self._counted = now(), counted_seconds()
        self._believed_from = self._counted + AFTER_START_SECONDS

    def is_believed(self) -> bool:
        """Whether the wall clock has kept pace with the monotonic clock for long enough.

        The whole difference since the last call counts as one jump.
        """
        wall, counted = self._now(), self._counted_seconds()
        jump_us = wall - self._wall - (counted - self._counted) * SECOND_US
        self._wall, self._counted = wall, counted
        if jump_us > DAY_US:
            self._believed_from = counted + AFTER_JUMP_SECONDS
            days = round(jump_us / DAY_US, 1)
            _log.warning("clock jumped ahead; keeping history for a day", days=days)
        elif jump_us < -DAY_US:  # corrected, or now too early, which deletes nothing
            self._believed_from = counted
        return counted >= self._believed_from


STATES_IN_A_STEP = 40
"""Takes a millisecond on SQLite; a hundred took two."""
_SECONDS_BETWEEN_STEPS = 0.5
_SECONDS_BETWEEN_ROUNDS = 3_600.0
_SECONDS_AFTER_A_FAILURE = 60.0
_SECONDS_WHILE_IT_WAITS = 60.0


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
