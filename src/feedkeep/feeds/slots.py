"""Slots for fetching feeds, shared between lanes."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from feedkeep.model import Stamp
from feedkeep.rules.lanes import Lane, next_lane

_Waiter: TypeAlias = tuple[Stamp, int, asyncio.Future[None]]


class Slots:
    """Lets a bounded number of feeds be fetched at a time; in each lane, the earliest due first."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._busy: Counter[Lane] = Counter()
        self._served: dict[Lane, int] = {}
        self._waiting: dict[Lane, list[_Waiter]] = {lane: [] for lane in Lane}
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def of(self, lane: Lane, due: Stamp) -> AsyncIterator[None]:
        """Wait for a slot, and hold it."""
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting[lane], (due, next(self._numbers), turn))
        self._grant()
        try:
            await turn
            yield
        finally:
            if not turn.cancelled():  # it was granted
                self._busy[lane] -= 1
                self._grant()

    def _grant(self) -> None:
        while True:
            waiting = [lane for lane, some in self._waiting.items() if some]
            lane = next_lane(waiting, self._busy, self._served, self._count)
            if lane is None:
                return
            *_, turn = heapq.heappop(self._waiting[lane])
            if not turn.cancelled():
                self._busy[lane] += 1
                self._served[lane] = next(self._numbers)
                turn.set_result(None)
