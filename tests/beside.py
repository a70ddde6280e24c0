"""feedkeep's own code on the database of a service, in the process of the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Self

from feedkeep.assembly import open_service
from feedkeep.config.settings import Settings
from feedkeep.model import T
from feedkeep.service import Service


class Beside:
    """Opens the database on entering and closes it on leaving, for as many uses as are wanted.

    It has an event loop in a thread, since a test that drives a browser has one in its own.
    """

    def __init__(self, database: str) -> None:
        self._settings = Settings(database=database)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._opened = AsyncExitStack()
        try:
            self._service = self._result_of(
                lambda: self._opened.enter_async_context(open_service(self._settings))
            )
        except BaseException:
            self._end_the_loop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._result_of(self._opened.aclose)
        self._end_the_loop()

    def use(self, work: Callable[[Service], Awaitable[T]]) -> T:
        return self._result_of(lambda: work(self._service))

    def _result_of(self, work: Callable[[], Awaitable[T]]) -> T:
        async def done() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result()

    def _end_the_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
