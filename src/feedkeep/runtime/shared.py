"""An answer that is expensive to get, shared by all that ask for it at about the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Asks for an answer once in so many seconds at most, and never twice at the same time."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, T]], kept_seconds: float) -> None:
        """Take what gets the answer, and for how long that is given to others, errors included."""
        self._ask = ask
        self._kept_seconds = kept_seconds
        self._asked_at_seconds = 0.0
        self._answer: asyncio.Task[T] | None = None

    async def get(self) -> T:
        """Return the answer, or raise its error; one caller that gives up ends it for no other."""
        now_seconds = time.monotonic()
        is_old = now_seconds - self._asked_at_seconds >= self._kept_seconds
        if self._answer is None or (is_old and self._answer.done()):
            self._asked_at_seconds = now_seconds
            self._answer = asyncio.create_task(self._ask())
        return await asyncio.shield(self._answer)
