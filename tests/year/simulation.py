"""A year of many accounts: who does what when, what becomes of the machine, what is measured."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from machines_of_a_year import Machine
from person import DAY_US, Person

TICK_US = 3_600_000_000
"""Interval between steps of the clock, so that an account's course depends on its seed alone."""

AT_ONCE = 32
BEGINS_US = 1_795_737_600_000_000
DAYS_OF_A_MONTH = 365 / 12
SAMPLE = 100
"""Number of accounts compared at the end of a month; at the end of the year, all are."""

PROBES = 200
MAX_TOLD = 10


@dataclass
class Report:
    """Report on a simulated year.

    Attributes:
        wrong: Differences from the expected state.
        months: Measurements at the end of each month.
        happened: Number of events of the machine, by event.
        syncs: Number of syncs of devices.
        requests: Number of requests in these syncs.
        wishes: Number of feeds that owners removed with an app.
        left: Number of these that the service did not follow, being in doubt; then it told the app.
    """

    wrong: list[str] = field(default_factory=list)
    months: list[dict[str, float]] = field(default_factory=list)
    happened: dict[str, int] = field(default_factory=dict)
    syncs: int = 0
    requests: int = 0
    wishes: int = 0
    left: int = 0


class Year:
    """A service, the people who use it, and the machine that it runs on."""

    def __init__(self, machine: Machine, numbers: range, days: int, seed: int) -> None:
        self.machine = machine
        self.process = machine.process
        self.people = {number: Person(number, seed, self.process) for number in numbers}
        self.days = days
        self.report = Report()
        self.day = 0
        self._now_us = BEGINS_US
        self._heap: list[tuple[int, int, str]] = []
        self._kept: dict[int, Any] = {}

    async def live(self, say: Callable[[str], None] = lambda _: None) -> Report:
        """Simulate the year; return a report."""
        await self.machine.begin(self._now_us)
        await self._all(self._begin)
        began = time.monotonic()
        months, told = 1, 0
        for day in range(self.days):
            self.day = day
            await self._pass_day()
            for happens in self.machine.plan.get(day, ()):
                happened = self.report.happened
                happened[happens.__name__] = happened.get(happens.__name__, 0) + 1
                await happens(self)
            is_over = day + 1 >= min(months * DAYS_OF_A_MONTH, self.days)
            if is_over and self.machine.is_useable(day):
                await self._end_month(months)
                say(f"month {months} after {time.monotonic() - began:.0f} s")
                for wrong in self._wrong()[told:][:MAX_TOLD]:
                    say(wrong)
                told = len(self._wrong())
                months += 1
        await self._end()
        return self.report

    @property
    def now_us(self) -> int:
        """Time of the machine's clock."""
        return self._now_us + self.machine.clock_is_off_us

    async def set_clock(self) -> None:
        """Tell the service what the machine's clock shows."""
        await self.process.ask("set_clock", self.now_us)

    def keep(self) -> None:
        """Keep a copy of what is right, as a backup does of what is stored."""
        self._kept = {number: person.keep() for number, person in self.people.items()}

    def go_back(self) -> None:
        """Go back to the restored backup."""
        for number, kept in self._kept.items():
            self.people[number].go_back(kept)

    async def _begin(self, number: int) -> None:
        for days, what in await self.people[number].begin():
            self._put(days, number, what)

    async def _pass_day(self) -> None:
        ends = BEGINS_US + (self.day + 1) * DAY_US
        while self._heap and self._heap[0][0] < ends:
            self._now_us = max(self._now_us, self._heap[0][0] // TICK_US * TICK_US)
            due: dict[int, list[str]] = defaultdict(list)
            while self._heap and self._heap[0][0] < self._now_us + TICK_US:
                _, number, what = heapq.heappop(self._heap)
                due[number].append(what)
            await self.set_clock()
            await self._all(lambda number, due=due: self._do(number, due[number]), due)
        self._now_us = ends
        await self.set_clock()

    async def _do(self, number: int, due: list[str]) -> None:
        for what in due:
            for days, follows in await self.people[number].do(what, self.now_us):
                self._put(days, number, follows)

    def _put(self, days: float, number: int, what: str) -> None:
        heapq.heappush(self._heap, (self._now_us + int(days * DAY_US), number, what))

    async def _end_month(self, month: int) -> None:
        numbers = list(self.people)[month % 7 :: max(1, len(self.people) // SAMPLE)]
        await self._all(lambda number: self.people[number].compare(self.now_us, 2), numbers)
        measured = await self.process.ask("measure")
        measured |= await self.process.ask("probe", PROBES)
        self.report.months.append({"month": month} | measured)

    async def _end(self) -> None:
        await self._all(lambda number: self.people[number].end(self.now_us))
        self.report.wrong = [*self._wrong(), *(await self.process.ask("faults"))]
        people = self.people.values()
        self.report.syncs = sum(person.syncs for person in people)
        self.report.wishes = sum(person.ledger.wishes for person in people)
        self.report.left = sum(person.ledger.in_doubt for person in people)
        self.report.requests = self.process.asked
        await self.machine.end()

    def _wrong(self) -> list[str]:
        return [f"{one.name}: {what}" for one in self.people.values() for what in one.wrong]

    async def _all(self, work: Callable[[int], Awaitable[None]], numbers: Any = None) -> None:
        """Do it for many people, some of them at the same time."""
        waiting = iter(list(self.people if numbers is None else numbers))

        async def some() -> None:
            for number in waiting:
                await work(number)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(some())
