"""Telling the service manager how the service is: ready, alive or stopping (sd_notify(3))."""

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
    """Tell a state to the service manager, if it wants to know; do without if that fails.

    The socket has a path, or an abstract name, which is written with an @.
    """
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name.startswith(("/", "@")):
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name
    # Who does not listen loses something; that is no reason not to serve.
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
    ):
        sender.settimeout(_SEND_SECONDS)
        sender.sendto(state.encode(), address)


def watchdog_seconds() -> float | None:
    """Return how often this process should say that it is alive; None without a watchdog.

    That is half of the time after which its watchdog ends it (sd_watchdog_enabled(3)).
    """
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    is_for_this = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    if not (is_for_this and microseconds.isascii() and microseconds.isdigit()):
        return None
    return int(microseconds) / 2_000_000 or None


class Signs:
    """What a process that serves tells of itself, from when it serves until it stops.

    It tells that it is alive for as long as its event loop turns, whatever becomes of the store: to
    start the service again gives a full disk no room, and ends the reads that still work.
    """

    def __init__(self, tell: Callable[[str], None], alive_each_seconds: float | None) -> None:
        """Use `tell` for each sign."""
        self._tell = tell
        self._seconds = alive_each_seconds
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Tell that requests are answered from now on."""
        self._tell(READY)
        if self._seconds is not None:
            self._watching = asyncio.create_task(tell_of_life(self._tell, self._seconds))

    def end(self) -> None:
        """Tell that it stops."""
        if self._watching is not None:
            self._watching.cancel()
        self._tell(STOPPING)


@contextlib.asynccontextmanager
async def telling_of_life(
    tell: Callable[[str], None], seconds: float | None
) -> AsyncIterator[None]:
    """Context manager: send signs of life, at least each `seconds`; None sends none."""
    if seconds is None:
        yield
        return
    living = asyncio.create_task(tell_of_life(tell, seconds))
    try:
        yield
    finally:
        living.cancel()


async def tell_of_life(tell: Callable[[str], None], seconds: float) -> None:
    """Tell now, and again after each so many seconds, that the event loop of this process turns."""
    while True:
        tell(ALIVE)
        await asyncio.sleep(seconds)
