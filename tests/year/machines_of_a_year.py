"""The machines of a year: a database each, a clock, and what becomes of them."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import story
from person import DAY_US
from postgres_server import PostgresServer, execute, new_database
from service_process import ServiceProcess

from feedkeep.assembly import restore
from feedkeep.config.settings import Settings
from feedkeep.model import Stamp

if TYPE_CHECKING:
    from simulation import Year

HOUR_US = 3_600_000_000
WEEK = 7

Happens = Callable[["Year"], Awaitable[None]]


class Machine:
    """A machine with a database in a folder.

    Attributes:
        process: The service.
        clock_is_off_us: Offset of its clock from the time, in microseconds.
        plan: Events by the day at whose end they happen, counted from 0.
    """

    def __init__(self, folder: Path, days: int) -> None:
        self._folder = folder
        self._days = days
        self._restored_day = _day(days, 7) + 1
        self.process = ServiceProcess(self._new_database())
        self.clock_is_off_us = 0
        self.plan: dict[int, list[Happens]] = {}
        for day in range(WEEK - 1, days, WEEK):
            self._will(day, self.is_backed_up, self.forgets_history)
        for tenth, what in {
            1: self.is_killed,
            2: self.steps_back_an_hour,
            4: self.steps_ahead_a_day,
            5: self.crashes,
            6: self.restarts,
            8: self.is_killed,
            9: self.is_upgraded,
        }.items():
            self._will(_day(days, tenth), what)
        self._will(_day(days, 4) + 1, self.steps_back_a_day)
        self._will(_day(days, 3), self.has_no_room)
        self._will(_day(days, 3) + 2, self.has_room_again)
        self._will(self._restored_day, self.is_restored)

    def is_useable(self, day: int) -> bool:
        """Whether the database takes requests at the end of a day."""
        return not _day(self._days, 3) <= day < _day(self._days, 3) + 2

    async def begin(self, us: int) -> None:
        """Start with what the first release wrote; of its accounts, `check` looks at all."""
        story.load("1.0.0", self.process.database)
        await self.process.start(us)

    async def end(self) -> None:
        """Stop."""
        await self.process.stop()

    async def restarts(self, year: Year) -> None:
        """The service is stopped in order, and started."""
        await self.process.stop()
        await self.process.start(year.now_us)

    async def is_killed(self, year: Year) -> None:
        """The service dies."""
        await self.process.kill()
        await self.process.start(year.now_us)

    async def crashes(self, year: Year) -> None:
        """The service dies, and a database server with it."""
        await self.is_killed(year)

    async def is_upgraded(self, year: Year) -> None:
        """A further version comes, which migrates all tables."""
        self.process.first.append("broken.a_version_with_no_way_on")
        await self.restarts(year)

    async def steps_back_an_hour(self, year: Year) -> None:
        """The clock was wrong, and is set back."""
        self.clock_is_off_us -= HOUR_US
        await year.set_clock()

    async def steps_ahead_a_day(self, year: Year) -> None:
        """The operator sets the clock to another day."""
        self.clock_is_off_us += DAY_US
        await year.set_clock()

    async def steps_back_a_day(self, year: Year) -> None:
        """The operator notices."""
        self.clock_is_off_us -= DAY_US
        await year.set_clock()

    async def forgets_history(self, _year: Year) -> None:
        """Expired history is deleted, in one round of all accounts."""
        await self.process.ask("forget")

    async def is_backed_up(self, year: Year) -> None:
        """The weekly backup replaces the last one."""
        await self._back_up(self._folder / "backup")
        if year.day + WEEK > self._restored_day >= year.day:
            year.keep()

    async def is_restored(self, year: Year) -> None:
        """The machine is lost, and another one goes on with the last backup."""
        await self.process.kill()
        await self._restore(self._folder / "backup", year.now_us)
        year.go_back()

    async def has_no_room(self, _year: Year) -> None:
        """The database takes no more."""
        raise NotImplementedError

    async def has_room_again(self, _year: Year) -> None:
        """The operator makes room."""
        raise NotImplementedError

    def _new_database(self) -> str:
        raise NotImplementedError

    async def _back_up(self, target: Path) -> None:
        raise NotImplementedError

    async def _restore(self, source: Path, us: int) -> None:
        raise NotImplementedError

    def _will(self, day: int, *happens: Happens) -> None:
        self.plan.setdefault(day, []).extend(happens)


class SqliteMachine(Machine):
    """One with SQLite."""

    def _new_database(self) -> str:
        self._file = self._folder / "feedkeep.db"
        return f"sqlite:///{self._file}"

    async def has_no_room(self, _year: Year) -> None:
        """The disk is full."""
        await self.process.ask("fill_the_disk")

    async def has_room_again(self, _year: Year) -> None:
        """The operator makes room."""
        await self.process.ask("clear_the_disk")

    async def _back_up(self, target: Path) -> None:
        await asyncio.to_thread(target.unlink, missing_ok=True)
        await self.process.ask("back_up", str(target))

    async def _restore(self, source: Path, us: int) -> None:
        for file in self._folder.glob("feedkeep.db*"):
            file.unlink()
        restore(Settings(database=self.process.database), source, lambda: Stamp(us))
        await self.process.start(us)


class PostgresMachine(Machine):
    """One with PostgreSQL."""

    def _new_database(self) -> str:
        self._server = PostgresServer()
        self._server.__enter__()
        return new_database(self._server.url)

    async def end(self) -> None:
        """Stop both."""
        await super().end()
        self._server.__exit__()

    async def crashes(self, year: Year) -> None:
        """The service dies, and all processes of the server, too."""
        await self.process.kill()
        self._server.stop(signal.SIGKILL)
        self._server.start()
        await self.process.start(year.now_us)

    async def has_no_room(self, _year: Year) -> None:
        """No more than that its server is away: the disk of a server is not filled here."""
        self._server.stop()

    async def has_room_again(self, _year: Year) -> None:
        """The server is back; the service finds it by itself."""
        self._server.start()
        await self.process.ask("ready")

    async def _back_up(self, target: Path) -> None:
        self._run("pg_dump", "--format=custom", "--compress=0", "--schema=feedkeep",
                  f"--file={target}", self.process.database)  # fmt: skip

    async def _restore(self, source: Path, us: int) -> None:
        self.process.database = new_database(self._server.url)
        self._run("pg_restore", f"--dbname={self.process.database}", str(source))
        # A dump has no statistics; autovacuum would soon collect them.
        execute(self.process.database, "ANALYZE")
        await self.process.start(us)
        await self.process.ask("move_clocks")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([self._server.programs / program, *arguments], check=True)


def _day(days: int, tenth: int) -> int:
    """Return a day near a tenth of the time, on which no backup is made."""
    return days * tenth // 10 // WEEK * WEEK + 2
