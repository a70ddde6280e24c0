"""Circuit breaker: while a PostgreSQL server does not respond, requests are rejected at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime.tasks import end

SUSPECT_SECONDS = 1.5
"""Duration of a request after which the server is probed."""

PROBE_SECONDS = 3.0
"""Timeout of a probe; with `SUSPECT_SECONDS`, less than five seconds."""

PAUSE_SECONDS = 0.5
"""Interval between a failed probe and the next one."""


class Breaker:
    """Allows requests to use a server unless it does not respond.

    A slow request alone proves little: its statement may be slow or, on a cluster, need a machine
    that is down. So the server is probed by a separate connection. If that fails, too, all current
    requests are cancelled, and new ones rejected until a probe succeeds.

    Args:
        probe: Queries the server; raises `OSError` if it does not respond.
    """

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        self._probe = probe
        self._under_way: set[asyncio.Timeout] = set()
        self._probing: asyncio.Task[None] | None = None
        self._is_open = False

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        """Context manager for using the server; its body never raises `TimeoutError`.

        Raises:
            StoreUnavailable: The server does not respond.
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
        except OSError:  # includes timeouts
            return False
        except Exception:  # noqa: BLE001 - the server rejects the probe, so it responds
            return True
        return True


def _silent() -> StoreUnavailable:
    return StoreUnavailable("The PostgreSQL database cannot be used now: it does not answer.")
