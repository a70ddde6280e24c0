"""Readiness of a process for all of its work, checked before each scrape."""

from __future__ import annotations

import asyncio

import structlog

from feedkeep.store.base import Store

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

MAX_SECONDS = 3.0
"""Timeout of the store; Prometheus's default timeout for the whole response is 10 seconds."""


class Readiness:
    """Last known state of the store.

    Stricter than /readyz, which load balancers follow and which stays 200 while lists can be read.

    Attributes:
        is_ready: Whether the store could be read and written, and had all rights to its tables.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_ready = False

    async def ask(self) -> None:
        """Check the store; raises nothing."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                await self._store.assert_ready()
                self.is_ready = not await self._store.missing_rights()
        except Exception as error:  # noqa: BLE001 - whatever it is, the process is not ready
            if self.is_ready:
                _log.warning("not ready", reason=repr(error))
            self.is_ready = False
