"""Share an expensive result among concurrent callers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Caches a result for a time, errors included; at most one computation runs at once.

    Args:
        ask: Computes the result.
        kept_seconds: Lifetime of a result or error.
    """

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, T]], kept_seconds: float) -> None:
        self._ask = ask
        self._kept_seconds = kept_seconds
        self._asked_at_seconds = 0.0
        self._answer: asyncio.Task[T] | None = None

    async def get(self) -> T:
        """Return the result or raise its error; cancelling one caller leaves the others waiting."""
        now_seconds = time.monotonic()
        is_old = now_seconds - self._asked_at_seconds >= self._kept_seconds
        if self._answer is None or (is_old and self._answer.done()):
            self._asked_at_seconds = now_seconds
            self._answer = asyncio.create_task(self._ask())
        return await asyncio.shield(self._answer)
