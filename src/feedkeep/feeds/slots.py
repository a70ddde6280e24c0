"""Fetch slots, shared between lanes, with one fetch at a time per host."""

from __future__ import annotations

import asyncio
import bisect
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from feedkeep.rules.fetch_order import Lane, next_lane


class _Waiter(NamedTuple):
    rank: int
    number: int
    host: str
    turn: asyncio.Future[None]


class Slots:
    """Limits the number and rate of fetches, and fetches to one at a time per host.

    In each lane, the lowest rank goes first, unless its host is busy. A feed that waits for a slot
    does not delay feeds of the same host in other lanes.
    """

    def __init__(self, count: int, a_second: float) -> None:
        self._count = count
        self._seconds_between = 1 / a_second
        self._rests = False
        self._busy: Counter[Lane] = Counter()
        self._busy_hosts: set[str] = set()
        self._served: dict[Lane, int] = {}
        self._waiting: dict[Lane, list[_Waiter]] = {lane: [] for lane in Lane}
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def of(self, lane: Lane, host: str, rank: int) -> AsyncIterator[None]:
        """Context manager: wait for a slot and for the host, and occupy both."""
        turn = asyncio.get_running_loop().create_future()
        waiter = _Waiter(rank, next(self._numbers), host, turn)
        bisect.insort(self._waiting[lane], waiter)
        self._grant()
        try:
            await turn
            yield
        finally:
            if turn.cancelled():
                self._waiting[lane].remove(waiter)
            else:  # it was granted
                self._busy[lane] -= 1
                self._busy_hosts.remove(host)
                self._grant()

    def _grant(self) -> None:
        """Grant the next slot, unless the rate limit applies."""
        first = {lane: one for lane in Lane if (one := self._first(lane))}
        lane = next_lane(first, self._busy, self._served, self._count)
        if lane is None or self._rests:
            return
        one = first[lane]
        self._waiting[lane].remove(one)
        self._busy[lane] += 1
        self._busy_hosts.add(one.host)
        self._served[lane] = next(self._numbers)
        one.turn.set_result(None)
        self._rests = True
        asyncio.get_running_loop().call_later(self._seconds_between, self._go_on)

    def _go_on(self) -> None:
        self._rests = False
        self._grant()

    def _first(self, lane: Lane) -> _Waiter | None:
        # Cancelled waiters are about to leave.
        may = (
            one
            for one in self._waiting[lane]
            if one.host not in self._busy_hosts and not one.turn.cancelled()
        )
        return next(may, None)
