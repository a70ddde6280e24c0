"""Whether a process can do all of its work, asked before each answer to Prometheus."""

from __future__ import annotations

import asyncio

import structlog

from feedkeep.store.base import Store

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

MAX_SECONDS = 3.0
"""How long the store may take; Prometheus gives the whole answer 10 seconds, unless it is told."""


class Readiness:
    """Remembers what the store said when it was asked last.

    It is stricter than /readyz, which stays 200 while lists can be read: balancers follow that.

    Attributes:
        is_ready: Whether the store could be read and written, and no right to a table was missing.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_ready = False

    async def ask(self) -> None:
        """Ask the store; raises nothing."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                await self._store.assert_ready()
                self.is_ready = not await self._store.missing_rights()
        except Exception as error:  # noqa: BLE001 - whatever it is, the process is not ready
            if self.is_ready:
                _log.warning("not ready", reason=repr(error))
            self.is_ready = False
