"""The machine of a year: its database, its clock, and what becomes of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from service_process import ServiceProcess

if TYPE_CHECKING:
    from simulation import Year

Happens = Callable[["Year"], Awaitable[None]]


class Machine:
    """A machine with a database in a folder."""

    def __init__(self, folder: Path, days: int) -> None:
        self.folder = folder
        self.process = ServiceProcess(self.database())
        self.clock_is_off_us = 0
        self.plan: dict[int, list[Happens]] = {}
        for day in range(6, days, 7):
            self.plan.setdefault(day, []).append(self.forgets)
        for day in range(13, days, 14):
            self.plan.setdefault(day, []).append(self.restarts)

    def database(self) -> str:
        """Return the URL of its database."""
        return f"sqlite:///{self.folder / 'feedkeep.db'}"

    async def begin(self, us: int) -> None:
        await self.process.start(us)

    async def end(self) -> None:
        await self.process.stop()

    async def forgets(self, year: Year) -> None:
        await self.process.ask("forget")

    async def restarts(self, year: Year) -> None:
        await self.process.stop()
        await self.process.start(year.now_us)
