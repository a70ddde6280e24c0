"""A service on a store that is empty at first, and a clock that tests set."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from stores import service_on

from feedkeep.model import Registration, Stamp
from feedkeep.service import Service
from feedkeep.store.base import Store

MINUTE = 60_000_000
DAY = 1_440 * MINUTE
PASSWORD = "correct horse"
HOME = "192.0.2.1"


class Clock:
    """Shows the time that a test sets."""

    def __init__(self) -> None:
        self.at = Stamp(20_000 * DAY + 5 * MINUTE)

    def __call__(self) -> Stamp:
        return self.at

    def go_on(self, us: int) -> None:
        self.at += us


def run(
    open_store: Callable,
    work: Callable[[Service, Store, Clock], Awaitable[None]],
    registration: Registration = Registration.INVITED,
) -> None:
    async def go() -> None:
        clock = Clock()
        async with open_store(clock) as store:
            service = service_on(store, clock, registration=registration)
            try:
                await work(service, store, clock)
            finally:
                await service._last_uses.close()
                service._passwords.close()

    asyncio.run(go())
