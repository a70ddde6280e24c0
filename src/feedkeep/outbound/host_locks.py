"""One request at a time to each host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class HostLocks:
    """Locks by host, granted in the order of the callers.

    A caller holds the lock of one host only: waiting for a second one could deadlock.
    """

    def __init__(self) -> None:
        # A lock exists while a caller holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, host: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(host, asyncio.Lock())
        async with lock:
            yield
