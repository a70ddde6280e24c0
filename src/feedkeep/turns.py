"""Letting others have their turn: what takes long is done in parts, or beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeAlias, TypeVar

from feedkeep.model import T

LONG_BYTES = 16_384
"""From how many bytes on a body is read, or written, beside the loop: some milliseconds' worth."""

LONG_LIST = 200
"""From how many feeds on a list is."""

LONGEST_SECONDS = 0.001
"""After how long others have their turn, where work is done in parts."""

_AT_ONCE = 2

P = ParamSpec("P")
S = TypeVar("S")

Turns: TypeAlias = Generator[Callable[[], Any] | None, Any, S]
"""Work that may take long: it yields wherever others may have their turn, and returns its value.

Where it yields a computation, that is done beside the loop, and it is sent what came of that.
"""

_threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="beside")


async def beside(is_long: bool, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return what `work` computes: at once if that is not long, else in one of a few threads.

    It shares nothing with anybody while it computes. Raises whatever it raises.
    """
    if not is_long:
        return work(*arguments, **named)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads, partial(work, *arguments, **named))


class Turn:
    """The time since others had theirs."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()

    async def end_if_long(self) -> None:
        """Let all others have their turn, if this one has taken long enough."""
        if self._loop.time() - self._begun > LONGEST_SECONDS:
            await asyncio.sleep(0)
            self._begun = self._loop.time()

    async def through(self, work: Turns[T]) -> T:
        """Do work that may take long; return its value."""
        result: Any = None
        while True:
            try:
                computation = work.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            # In a thread that no body waits for: the work may be in the middle of a transaction.
            result = None if computation is None else await asyncio.to_thread(computation)
            await self.end_if_long()


def at_once(work: Turns[T]) -> T:
    """Do work that does not take long; return its value."""
    result: Any = None
    while True:
        try:
            computation = work.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        result = computation() if computation else None
