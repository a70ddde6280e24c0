"""Report readiness, liveness and stopping to the service manager (sd_notify(3))."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable

READY = "READY=1"
ALIVE = "WATCHDOG=1"
STOPPING = "STOPPING=1"

_SEND_SECONDS = 1.0


def notify(state: str) -> None:
    """Send a state to the service manager, if there is one; errors are ignored.

    The socket's name is a path, or an abstract name written with an `@`.
    """
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name.startswith(("/", "@")):
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name
    # A manager that does not listen is no reason not to serve.
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
    ):
        sender.settimeout(_SEND_SECONDS)
        sender.sendto(state.encode(), address)


def watchdog_seconds() -> float | None:
    """Return the interval between watchdog pings in seconds; None without a watchdog.

    That is half of the watchdog's timeout (sd_watchdog_enabled(3)).
    """
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    is_for_this = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    if not (is_for_this and microseconds.isascii() and microseconds.isdigit()):
        return None
    return int(microseconds) / 2_000_000 or None


class Signs:
    """Reports the state of a serving process to the service manager.

    Pings depend on the event loop only, not on the store: a restart would not free a full disk, and
    would end the reads that still work.

    Args:
        tell: Sends a state.
        alive_each_seconds: Interval between pings; None sends none.
    """

    def __init__(self, tell: Callable[[str], None], alive_each_seconds: float | None) -> None:
        self._tell = tell
        self._seconds = alive_each_seconds
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._tell(READY)
        if self._seconds is not None:
            self._watching = asyncio.create_task(tell_of_life(self._tell, self._seconds))

    def end(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        self._tell(STOPPING)


@contextlib.asynccontextmanager
async def telling_of_life(
    tell: Callable[[str], None], seconds: float | None
) -> AsyncIterator[None]:
    """Context manager: send a ping at least every `seconds`; None sends none."""
    if seconds is None:
        yield
        return
    living = asyncio.create_task(tell_of_life(tell, seconds))
    try:
        yield
    finally:
        living.cancel()


async def tell_of_life(tell: Callable[[str], None], seconds: float) -> None:
    """Send a ping now and after every `seconds` of a running event loop."""
    while True:
        tell(ALIVE)
        await asyncio.sleep(seconds)
