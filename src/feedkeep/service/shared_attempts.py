"""Share failed-login counts between processes through the store."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from array import array
from collections.abc import Mapping

import structlog

from feedkeep.model import CountedAttempts, Now, Stamp
from feedkeep.rules.clock import SECOND_US
from feedkeep.runtime.tasks import end
from feedkeep.security.throttle import KEPT_SECONDS, MAX_KEYS, Throttle
from feedkeep.store.base import Store

WRITTEN_AT_ONCE = 500
"""Maximum number of rows written per second; others wait for the next write."""

FORGOTTEN_AT_ONCE = 1_000

_SECONDS_BETWEEN_EXCHANGES = 1.0
_SECONDS_WHEN_QUIET = 5.0
_SECONDS_BETWEEN_FORGETTING = 60.0
_OVERLAP_SECONDS = 5.0
"""Overlap of each read with the previous read: a row gets its time before it is visible."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SharedAttempts:
    """Syncs the throttle with the counts of other processes (C2.18), outside of requests.

    Once a second at most, one statement writes new counts and one reads those of other processes.
    Without recent failed logins, nothing is written, and reads are five seconds apart. While the
    store is unavailable, each process counts alone; its counts are written later.
    """

    def __init__(self, store: Store, throttle: Throttle, now: Now) -> None:
        self._store = store
        self._throttle = throttle
        self._now = now
        self._process = secrets.randbits(63)
        self._looked = Stamp(0)
        self._forget_at_seconds = -math.inf
        self._rows_until_seconds = -math.inf
        self._written_count = 0
        self._task: asyncio.Task[None] | None = None
        self._is_failing = False

    async def start(self) -> None:
        """Read the stored counts, then sync until `close`; call before the first request."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_WHEN_QUIET):
                await self._exchange()
        self._task = asyncio.create_task(self._go_on())

    async def close(self) -> None:
        """Stop, and try for a second to write unshared counts."""
        if self._task:
            await end(self._task)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS_BETWEEN_EXCHANGES):
                    await self._exchange()

    async def exchange(self) -> None:
        """Write new counts, read those of other processes, and purge old rows.

        Raises:
            StoreUnavailable: Unwritten counts are kept for the next call.
        """
        now_seconds = time.monotonic()
        # Stored times are wall-clock times; the throttle uses the monotonic clock.
        ahead_seconds = self._now() / SECOND_US - now_seconds
        await self._tell(ahead_seconds)
        since = Stamp(max(0, self._looked - round(_OVERLAP_SECONDS * SECOND_US)))
        self._looked, found = await self._store.attempts.saved_since(since, MAX_KEYS)
        if found:
            self._rows_until_seconds = now_seconds + KEPT_SECONDS + _SECONDS_BETWEEN_FORGETTING
        for one in found:
            if one.process != self._process and one.seconds:
                # A time in the future, by another machine's clock, counts as now.
                times = (min(second - ahead_seconds, now_seconds) for second in one.seconds)
                self._throttle.learn(one.key, one.process, array("d", times))
        await self._forget(now_seconds)

    async def _tell(self, ahead_seconds: float) -> None:
        unshared = self._throttle.take_unshared(WRITTEN_AT_ONCE)
        if not unshared:
            return
        try:
            await self._store.attempts.save(self._rows(unshared, ahead_seconds))
        except BaseException:
            self._throttle.return_unshared(unshared)
            raise
        self._written_count += len(unshared)

    def _rows(
        self, unshared: Mapping[bytes, array[float]], ahead_seconds: float
    ) -> list[CountedAttempts]:
        return [
            CountedAttempts(
                key, self._process, array("I", (math.ceil(at + ahead_seconds) for at in times))
            )
            for key, times in unshared.items()
        ]

    async def _forget(self, now_seconds: float) -> None:
        # Keeps pace with this process's writes, and runs each minute while there may be old rows.
        is_due = self._forget_at_seconds <= now_seconds <= self._rows_until_seconds
        if not is_due and self._written_count < FORGOTTEN_AT_ONCE:
            return
        count = await self._store.attempts.forget(KEPT_SECONDS, MAX_KEYS, FORGOTTEN_AT_ONCE)
        self._written_count = 0
        is_all = count < FORGOTTEN_AT_ONCE
        self._forget_at_seconds = now_seconds + (_SECONDS_BETWEEN_FORGETTING if is_all else 0)

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_EXCHANGES)
            if self._throttle.is_quiet(time.monotonic()):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_SECONDS_WHEN_QUIET - _SECONDS_BETWEEN_EXCHANGES):
                        await self._throttle.has_unshared.wait()
            await self._exchange()

    async def _exchange(self) -> None:
        try:
            await self.exchange()
            self._is_failing = False
        except Exception as error:  # noqa: BLE001 - the process keeps counting alone
            # This runs each second: log an outage once.
            if not self._is_failing:
                _log.warning("cannot share failed-login counts; will retry", reason=str(error))
            self._is_failing = True
