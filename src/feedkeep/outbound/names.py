"""Name resolution by the system's resolver."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeAlias

from feedkeep.outbound.failures import Exhausted

LookUp: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the numeric addresses of a name, best first; raises `socket.gaierror` without any."""


class SystemNames:
    """Resolves names in up to `at_once` threads.

    A thread that waits for a resolver cannot be stopped. A cancelled caller does not wait for it,
    nor does the end of the process, but it occupies one of the threads.
    """

    def __init__(self, at_once: int) -> None:
        self._free = asyncio.Semaphore(at_once)

    async def look_up(self, host: str) -> Sequence[str]:
        """Return the addresses of a name.

        Raises:
            socket.gaierror: The name has no address, or the lookup failed.
            Exhausted: This machine has no thread for the lookup.
        """
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        found: Future[Sequence[str]] = Future()
        found.set_running_or_notify_cancel()  # it cannot be cancelled, only abandoned

        def ask() -> None:
            try:
                found.set_result(_addresses(host))
            except OSError as error:
                found.set_exception(error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._free.release)

        try:
            threading.Thread(target=ask, daemon=True).start()
        except RuntimeError as error:  # the system has no thread
            self._free.release()
            raise Exhausted from error
        return await asyncio.wrap_future(found)


def _addresses(host: str) -> Sequence[str]:
    # `getaddrinfo` would encode text again, by other rules than the URL's.
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
