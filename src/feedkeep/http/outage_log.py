"""Log the beginning and the end of each outage of the store."""

from __future__ import annotations

import asyncio
import time
from typing import TypeAlias

import structlog

from feedkeep.model.errors import StoreUnavailable

QUIET_SECONDS = 6.0
"""An outage ends after this long without a failure; PostgreSQL's statements time out after 5 s."""

Kind: TypeAlias = tuple[str, str]
"""Method and route of a request."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Outages:
    """Logs when requests begin to fail because of the store, and when they succeed again.

    An outage ends when a kind of request that failed succeeds, and none fails for `QUIET_SECONDS`
    after it. Success of other kinds shows nothing: a single table may be locked, or a single
    machine of a cluster be down.
    """

    def __init__(self) -> None:
        self._failed_kinds: set[Kind] = set()
        self._failed_requests = 0
        self._began = 0.0
        self._ending: asyncio.TimerHandle | None = None

    def failed(self, kind: Kind, error: StoreUnavailable, *, is_poll: bool) -> None:
        """Record a failed request; health polls are not counted."""
        if not self._failed_kinds:
            self._began = time.monotonic()
            _log.error("store outage began", reason=str(error))
        if self._ending:
            self._ending.cancel()
            self._ending = None
        self._failed_kinds.add(kind)
        self._failed_requests += not is_poll

    def succeeded(self, kind: Kind) -> None:
        if kind in self._failed_kinds and self._ending is None:
            seconds = round(time.monotonic() - self._began, 1)
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(QUIET_SECONDS, self._end, seconds)

    def _end(self, seconds: float) -> None:
        _log.warning(
            "store outage ended", duration_seconds=seconds, failed_requests=self._failed_requests
        )
        self._failed_kinds.clear()
        self._failed_requests = 0
        self._ending = None
