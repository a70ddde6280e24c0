"""Keep the event loop responsive: run long work in slices or in threads."""

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
"""Bodies of at least this size are encoded and decoded in a thread: that takes milliseconds."""

LONG_LIST = 200
"""Lists of at least this many feeds are computed in a thread."""

LONGEST_SECONDS = 0.001
"""Maximum duration of one slice of work."""

_AT_ONCE = 2

P = ParamSpec("P")
S = TypeVar("S")

Yielding: TypeAlias = Generator[Callable[[], Any] | None, Any, S]
"""Work that may take long: yields wherever other tasks may run, and returns its value.

A yielded computation runs in a thread; its result is sent back in.
"""

owner: ContextVar[Hashable] = ContextVar("owner", default=None)
"""Account that the current task works for; None for strangers and the service itself."""

_threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="beside")
_one_by_one: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()


async def in_thread_if(
    is_long: bool, work: Callable[P, T], *arguments: P.args, **named: P.kwargs
) -> T:
    """Run `work` directly, or in one of a few threads if `is_long`.

    Each `owner` occupies one thread at a time; further work of the same owner waits. Nothing else
    may use the objects that `work` uses while it runs. Raises what `work` raises.
    """
    if not is_long:
        return work(*arguments, **named)
    loop = asyncio.get_running_loop()
    async with _one_by_one.setdefault(owner.get(), asyncio.Lock()):
        return await loop.run_in_executor(_threads, partial(work, *arguments, **named))


class TimeSlice:
    """Time since other tasks could last run.

    Attributes:
        parts: Number of slices of work done so far.
    """

    def __init__(self) -> None:
        self.parts = 0
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()

    async def yield_if_long(self) -> None:
        """Let other tasks run if this slice has lasted longer than `LONGEST_SECONDS`."""
        if self._loop.time() - self._begun > LONGEST_SECONDS:
            await asyncio.sleep(0)
            self._begun = self._loop.time()

    async def through(self, work: Yielding[T]) -> T:
        """Run work in slices; return its value."""
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
    """Run short work without yielding; return its value."""
    result: Any = None
    while True:
        try:
            computation = work.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        result = computation() if computation else None
