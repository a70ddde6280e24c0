"""Signals that stop a process, and cancellation of background tasks."""

from __future__ import annotations

import asyncio
import signal
from typing import Any


async def end(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait until all have ended; their errors and None are ignored."""
    under_way = [task for task in tasks if task is not None]
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)


def stop_signals() -> set[signal.Signals]:
    """Return the signals that stop this process.

    SIGHUP, sent by closing terminals and by tools that mean "restart", is included unless it is
    ignored already, as under `nohup`.
    """
    always = {signal.SIGINT, signal.SIGTERM}
    is_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return always if is_ignored else always | {signal.SIGHUP}
