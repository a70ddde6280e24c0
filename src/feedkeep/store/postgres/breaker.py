"""Circuit breaker: while a PostgreSQL server is silent, requests are refused at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime.tasks import end

SUSPECT_SECONDS = 1.5
"""After how long a request that waits for PostgreSQL has the server probed."""

PROBE_SECONDS = 3.0
"""How long the server may take to answer a probe: with the time before it, less than five."""

PAUSE_SECONDS = 0.5
"""How long after a probe that failed the next one follows."""


class Breaker:
    """Lets requests use a server, unless it is silent.

    A request that takes long says little: its statement may be slow, or, on a cluster, need a
    machine that is away. So the server is probed meanwhile, by a connection of its own. If that
    fails, too, all requests under way are cut, and further ones refused until a probe succeeds.
    """

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        """Take what asks the server something; it raises `OSError` if nothing answers."""
        self._probe = probe
        self._under_way: set[asyncio.Timeout] = set()
        self._probing: asyncio.Task[None] | None = None
        self._is_open = False

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        """Give a context in which the server is used; what is done in it raises no `TimeoutError`.

        Raises:
            StoreUnavailable: It is silent, or became so meanwhile.
        """
        if self._is_open:
            raise _silent()
        suspecting = asyncio.get_running_loop().call_later(SUSPECT_SECONDS, self._suspect)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._under_way.add(limit)
                yield
        except TimeoutError as error:
            raise _silent() from error
        finally:
            suspecting.cancel()
            self._under_way.discard(limit)

    async def close(self) -> None:
        """Probe no more."""
        await end(self._probing)

    def _suspect(self) -> None:
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe_until_it_answers())

    async def _probe_until_it_answers(self) -> None:
        while not await self._answers():
            self._is_open = True
            now = asyncio.get_running_loop().time()
            for limit in self._under_way:
                limit.reschedule(now)
            self._under_way.clear()
            await asyncio.sleep(PAUSE_SECONDS)
        self._is_open = False

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await self._probe()
        except OSError:  # a timeout is one, too
            return False
        except Exception:  # noqa: BLE001 - it refuses the probe, so it is there
            return True
        return True


def _silent() -> StoreUnavailable:
    return StoreUnavailable("The PostgreSQL database cannot be used now: it does not answer.")
