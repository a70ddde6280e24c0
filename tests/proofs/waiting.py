"""Waiting until something is so, which nothing tells."""

import asyncio
import time

PATIENCE_SECONDS = 60.0


def until(is_so, told=str, seconds=PATIENCE_SECONDS):
    """Wait until something is so; return what it is. If it never is, `told` says what was."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.02)
    return found


async def until_so(is_so, seconds=PATIENCE_SECONDS):
    """Do so while others go on."""
    async with asyncio.timeout(seconds):
        while not is_so():  # noqa: ASYNC110 - many tell
            await asyncio.sleep(0.005)
