"""One request at a time to each host, whatever led there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class HostLocks:
    """Lets those who ask the same host wait for each other, in the order in which they come.

    A place is held for one request. Who held one host and waited for another could wait for ever.
    """

    def __init__(self) -> None:
        # A lock is there for as long as a caller holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, host: str) -> AsyncIterator[None]:
        """Wait until no other caller asks the host; none does until this is left."""
        lock = self._locks.setdefault(host, asyncio.Lock())
        async with lock:
            yield
