"""feedkeep doctor: checks the setup of a service on this machine, and says what to do."""

from __future__ import annotations

import asyncio
import ctypes
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated

import typer

from feedkeep.assembly import open_service, pending_migrations_of
from feedkeep.cli import diagnosis
from feedkeep.cli.common import ConfigOption, DatabaseOption, say, settings
from feedkeep.cli.diagnosis import Finding, Verdict, fault, note, ok
from feedkeep.cli.doctor_network import address, entrance, one_feed, provider
from feedkeep.cli.serve import EXAMPLE_FEED
from feedkeep.config.settings import Settings, is_postgres, misspelt, shown, sqlite_path
from feedkeep.model import Stamp
from feedkeep.model.errors import FeedkeepError
from feedkeep.runtime import wall_clock

_TIME_ERROR = 5
"""Result of adjtimex(2) while no time service sets the clock."""

FeedOption = Annotated[
    str,
    typer.Option("--feed", metavar="URL", help="The feed to fetch."),
]


def doctor(
    feed: FeedOption = EXAMPLE_FEED,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Check the setup of this machine, and print a line for each subject, with what to do.

    Run it as the service's user, with the service's environment. The service may run, and nothing
    is changed. Checks settings, database, rights, connections, disk, backup, clock, address, TLS,
    proxies, the sign-in provider, name resolution and one feed. Exit status: 1 if there is a fault,
    otherwise 0, even if there are notes.
    """
    faults = asyncio.run(_tell_all(database, config, feed))
    if faults:
        say(f"{faults} {'fault' if faults == 1 else 'faults'} found.")
        raise typer.Exit(1)
    say("No fault found.")


async def _tell_all(database: str | None, config: Path | None, feed: str) -> int:
    faults = 0
    async for finding in _examine(database, config, feed):
        say(f"{finding.verdict.value:<5} {finding.subject}: {finding.text}")
        faults += finding.verdict is Verdict.FAULT
    return faults


async def _examine(database: str | None, config: Path | None, feed: str) -> AsyncIterator[Finding]:
    try:
        chosen = settings(database, config)
    except FeedkeepError as error:
        yield fault("settings", str(error))
        return
    for finding in _settings():
        yield finding
    subjects = set()
    async for finding in _database(chosen):
        subjects.add(finding.subject)
        yield finding
    if "clock" not in subjects:  # the database could not be read
        yield diagnosis.clock(wall_clock.now(), None, Stamp(0), _is_clock_set())
    for finding in entrance(chosen):
        yield finding
    async for finding in address(chosen):
        yield finding
    async for finding in provider(chosen):
        yield finding
    async for finding in one_feed(chosen, feed):
        yield finding


def _settings() -> Iterator[Finding]:
    wrong = False
    for variable, meant in misspelt(os.environ):
        wrong = True
        yield fault("settings", f"{variable} is not a setting, and has no effect; {meant} is one.")
    if not wrong:
        yield ok("settings", "All settings are valid.")


async def _database(chosen: Settings) -> AsyncIterator[Finding]:
    """Check the database without changing it; opening an older one would migrate it."""
    name = shown(chosen.database)
    try:
        pending = await pending_migrations_of(chosen)
        if pending.steps and not pending.found:
            yield fault("database", f"{name} has no tables yet: `feedkeep migrate` creates them.")
            return
        if not is_postgres(chosen.database):
            yield diagnosis.file_rights(_open_to_all(sqlite_path(chosen.database)))
        if pending.steps:
            yield note(
                "database",
                f"{name} is older than this feedkeep, and `feedkeep serve` will migrate it:"
                " `feedkeep migrate --dry-run` shows the changes.",
            )
            return
        async with open_service(chosen, may_create=False) as service:
            await service.store.assert_ready()
            yield ok("database", f"{name} is up to date, and can be read and written.")
            now = wall_clock.now()
            if is_postgres(chosen.database):
                yield diagnosis.rights(await service.store.missing_rights())
            limit = await service.store.connection_limit()
            if limit is not None:
                yield diagnosis.connections(chosen.workers, chosen.postgres_connections, limit)
            state = service.store.state()
            if state.files:
                yield diagnosis.disk(state.files.free_bytes)
                yield diagnosis.backup(state.last_backup, now)
            newest = await service.store.accounts.newest_stamp()
            of_database = await service.store.clock()
            yield diagnosis.clock(wall_clock.now(), of_database, newest, _is_clock_set())
    except FeedkeepError as error:
        yield fault("database", str(error))


def _open_to_all(database: Path) -> list[str]:
    """Return the database's files that every user of this machine may read or write."""
    real = database.resolve()
    files = (real.with_name(real.name + ending) for ending in ("", "-wal", "-shm"))
    to_all = stat.S_IROTH | stat.S_IWOTH
    return [str(file) for file in files if file.exists() and file.stat().st_mode & to_all]


def _is_clock_set() -> bool | None:
    """Whether a time service sets this machine's clock; None if the kernel does not tell."""
    timex = ctypes.create_string_buffer(512)  # larger than any machine's struct; modes 0: read only
    try:
        return bool(ctypes.CDLL(None).adjtimex(timex) not in {-1, _TIME_ERROR})
    except (OSError, AttributeError):
        return None
