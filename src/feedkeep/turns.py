"""Letting others have their turn: what computes for long is done beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec

from feedkeep.model import T

LONG_BYTES = 16_384
"""From how many bytes on a body is read, or written, beside the loop: some milliseconds' worth."""

LONG_LIST = 200
"""From how many feeds on a list is."""

_AT_ONCE = 2

P = ParamSpec("P")

_threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="beside")


async def beside(is_long: bool, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return what `work` computes: at once if that is not long, else in one of a few threads.

    It shares nothing with anybody while it computes. Raises whatever it raises.
    """
    if not is_long:
        return work(*arguments, **named)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads, partial(work, *arguments, **named))
