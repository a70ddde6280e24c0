"""Letting other tasks run: work that takes long is done in parts, or beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, ParamSpec, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from feedkeep.model import T

LONG_BYTES = 16_384
"""From how many bytes on a body is decoded or encoded beside the loop: it takes milliseconds."""

LONG_LIST = 200
"""From how many feeds on a list is computed beside the loop."""

LONGEST_SECONDS = 0.001
"""How long a part of some work may take before other tasks have their turn."""

_AT_ONCE = 2

P = ParamSpec("P")
S = TypeVar("S")

Yielding: TypeAlias = Generator[Callable[[], Any] | None, Any, S]
"""Work that may take long: it yields wherever other tasks may run, and returns its value.

If it yields a computation, that is done beside the loop, and its result is sent back in.
"""

owner: ContextVar[Hashable] = ContextVar("owner", default=None)
"""For whom the present task works: an account; None for a stranger, and for the service itself."""

_threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="beside")
_one_by_one: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()


async def in_thread_if(
    is_long: bool, work: Callable[P, T], *arguments: P.args, **named: P.kwargs
) -> T:
    """Return what `work` computes: at once if that is not long, else in one of a few threads.

    The threads take one work of each `owner` at a time: another's waits for one of theirs, however
    many they have. While it computes, nothing else may use the objects that it uses. Raises what
    `work` raises.
    """
    if not is_long:
        return work(*arguments, **named)
    loop = asyncio.get_running_loop()
    async with _one_by_one.setdefault(owner.get(), asyncio.Lock()):
        return await loop.run_in_executor(_threads, partial(work, *arguments, **named))


class TimeSlice:
    """The time since other tasks had their turn.

    Attributes:
        parts: How many parts of work were done in it and in the turns before.
    """

    def __init__(self) -> None:
        self.parts = 0
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()

    async def yield_if_long(self) -> None:
        """Let all other tasks run, if this one has run for long enough."""
        if self._loop.time() - self._begun > LONGEST_SECONDS:
            await asyncio.sleep(0)
            self._begun = self._loop.time()

    async def through(self, work: Yielding[T]) -> T:
        """Do work that may take long; return its value."""
        result: Any = None
        while True:
            try:
                computation = work.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            self.parts += 1
            # Not in `_threads`, where bodies wait: the work may be in the middle of a transaction.
            result = None if computation is None else await asyncio.to_thread(computation)
            await self.yield_if_long()


def at_once(work: Yielding[T]) -> T:
    """Do work that does not take long; return its value."""
    result: Any = None
    while True:
        try:
            computation = work.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        result = computation() if computation else None
