"""Cancellation of background tasks."""

from __future__ import annotations

import asyncio
from typing import Any


async def end(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait until all have ended; their errors and None are ignored."""
    under_way = [task for task in tasks if task is not None]
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
