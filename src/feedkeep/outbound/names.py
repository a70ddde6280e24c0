"""Looking up the addresses of a name, as the machine is set up to."""

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
"""Returns the numeric addresses of a name, best first; `socket.gaierror` if there are none."""


class SystemNames:
    """Looks names up in threads of their own, up to `at_once`.

    A thread that waits for a resolver cannot be stopped. So the caller that no longer wants the
    answer does not wait for it, nor does the end of the process; but until then the thread counts.
    """

    def __init__(self, at_once: int) -> None:
        self._free = asyncio.Semaphore(at_once)

    async def look_up(self, host: str) -> Sequence[str]:
        """Return the addresses of a name.

        Raises:
            socket.gaierror: It has none, or the resolver does not know.
            Exhausted: This machine cannot ask it.
        """
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        found: Future[Sequence[str]] = Future()
        found.set_running_or_notify_cancel()  # it cannot be cancelled, only no longer awaited

        def ask() -> None:
            try:
                found.set_result(_addresses(host))
            except OSError as error:
                found.set_exception(error)
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._free.release)

        try:
            threading.Thread(target=ask, daemon=True).start()
        except RuntimeError as error:  # the system has no thread to give
            self._free.release()
            raise Exhausted from error
        return await asyncio.wrap_future(found)


def _addresses(host: str) -> Sequence[str]:
    """Ask with bytes: text would be translated once more, by other rules than the URL was."""
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
