"""Broken: what would be computed beside the event loop is computed on it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from feedkeep.runtime import cooperative as turns


class OnTheLoop(ThreadPoolExecutor):
    """Computes at once, where it is told to."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return what the work gave, or raised."""
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments, **named))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is for who asked
            done.set_exception(error)
        return done


turns._threads = OnTheLoop(1)
