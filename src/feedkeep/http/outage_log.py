"""Outages of the store: one line of the log when one begins, and one when it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from feedkeep.model.errors import StoreUnavailable

LOOK_SECONDS = 1.0
"""How often it is looked whether an outage has ended."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Outages:
    """Counts the requests that fail while the store is unavailable.

    An outage begins with the first of them. It ends when the store reads and writes again and no
    request has failed since the last look: of a cluster, one machine may be away while the rest is
    ready.
    """

    def __init__(self, assert_ready: Callable[[], Awaitable[None]]) -> None:
        """Take what raises `StoreUnavailable` while the store cannot read and write."""
        self._assert_ready = assert_ready
        self._failed = 0
        self._watching: asyncio.Task[None] | None = None

    def note(self, error: StoreUnavailable, *, is_poll: bool) -> None:
        """Note that a request failed by an error; one that polls whether all is well is no loss."""
        self._failed += not is_poll
        if self._watching is None:
            _log.error("store outage began", reason=str(error))
            self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        began = time.monotonic()
        while not await self._has_ended():
            pass
        seconds = round(time.monotonic() - began, 1)
        _log.warning("store outage ended", duration_seconds=seconds, failed_requests=self._failed)
        self._failed = 0
        self._watching = None

    async def _has_ended(self) -> bool:
        """Say after a while whether the store is ready, and no request has failed meanwhile."""
        failed_before = self._failed
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await self._assert_ready()
        except Exception:  # noqa: BLE001 - whatever it is, the outage goes on
            return False
        return self._failed == failed_before
