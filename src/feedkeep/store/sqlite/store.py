"""`SqliteStore`: the Store protocol on a SQLite file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import structlog

from feedkeep.model import Now, Records
from feedkeep.model.errors import StoreUnavailable, StoreUnusable
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.base import Check, Store, StoreSize, StoreState
from feedkeep.store.migrate import BeforeMigrating, migrate_at_once
from feedkeep.store.sqlite import archive, lock
from feedkeep.store.sqlite.accounts import SqliteAccounts
from feedkeep.store.sqlite.archive import SqliteArchive
from feedkeep.store.sqlite.backup import last_backup
from feedkeep.store.sqlite.connection import (
    APPLICATION_ID,
    assert_there,
    faults,
    pending_in,
    prepare,
)
from feedkeep.store.sqlite.driver import SqliteDriver
from feedkeep.store.sqlite.entries import SqliteEntries
from feedkeep.store.sqlite.feed_labels import SqliteFeedLabels
from feedkeep.store.sqlite.reading import can_be_read, is_of_the_disk
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.sqlite.tokens import SqliteTokens

_KIND = "SQLite"

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SqliteStore(Store):
    """A SQLite file, with an object for each topic."""

    def __init__(self, runner: SqliteRunner, now: Now) -> None:
        """Use a file that is already migrated; callers use `open` instead."""
        self._runner = runner
        super().__init__(
            SqliteDriver(runner),
            now,
            SqliteEntries(runner, now),
            SqliteFeedLabels(runner),
            SqliteAccounts(runner),
            SqliteTokens(runner),
        )

    @classmethod
    async def open(
        cls,
        path: Path,
        now: Now,
        *,
        may_create: bool = True,
        before_migrating: BeforeMigrating = migrate_at_once,
        recorder: Recorder | None = None,
    ) -> Self:
        """Open the file, after creating or migrating it.

        A file that needs no migration is opened even while its disk accepts no writes. `recorder`
        counts batches and commits.

        Raises:
            StoreUnusable: The file cannot be opened, is not feedkeep's, is newer than this program,
                is being restored or migrated, is older and in use, is missing, or does not exist
                and may not be created.
            StoreUnavailable: It is locked or full.
        """
        if not may_create:
            assert_there(path)
        lock_descriptor = lock.use(path)
        try:
            takes_writes = await _prepared(path, lock_descriptor, before_migrating)
            lock.note_made(lock_descriptor)
            return cls(
                SqliteRunner(path, lock_descriptor, recorder, takes_writes=takes_writes), now
            )
        except BaseException:
            os.close(lock_descriptor)
            raise

    async def assert_ready(self) -> None:
        self._runner.assert_undamaged()
        # Write a stored value again: only a commit shows that the disk has space. This comes first,
        # since a file whose disk accepts writes again is reopened for it.
        await self._runner.write(
            lambda connection: connection.pragma("application_id", APPLICATION_ID)
        )
        self._runner.read(
            lambda connection: connection.execute(
                "SELECT account_id FROM account LIMIT 1"
            ).fetchall()
        )

    async def missing_rights(self) -> Sequence[str]:
        return ()  # rights apply to the whole file, and `assert_ready` has tested them

    async def clock(self) -> None:
        return None

    async def connection_limit(self) -> None:
        return None

    async def size(self) -> StoreSize:
        files = self._runner.files()
        size_bytes = files.data_bytes + files.log_bytes
        return StoreSize(_KIND, size_bytes, True, last_backup(self._runner.path))

    def state(self) -> StoreState:
        return StoreState(_KIND, self._runner.files(), last_backup(self._runner.path))

    async def faults(self) -> Sequence[str]:
        return await self._runner.scan(faults)

    @asynccontextmanager
    async def archive(self) -> AsyncIterator[SqliteArchive]:
        with self._runner.reading() as connection:
            yield SqliteArchive(connection)

    async def fill(self, records: AsyncIterator[Records], check: Check | None = None) -> None:
        with self._runner.writing() as connection:
            await archive.fill(connection, records, check)

    async def close(self) -> None:
        await self._runner.close()


async def _prepared(path: Path, lock_descriptor: int, before_migrating: BeforeMigrating) -> bool:
    """Migrate the file; return False if its disk accepts no writes and it needs no migration.

    Raises as `prepare` and `lock.used_alone` do.
    """
    try:
        pending = await asyncio.to_thread(pending_in, path, to_write=True)
        if pending.found and pending.steps:
            await before_migrating(pending)
            await asyncio.to_thread(_migrate, path, lock_descriptor)
        else:
            await asyncio.to_thread(prepare, path)
    except (StoreUnavailable, StoreUnusable) as error:
        is_of_disk = is_of_the_disk(error.__cause__)
        if not (is_of_disk and await asyncio.to_thread(can_be_read, path)):
            raise
        _log.warning("database is read-only", reason=str(error.__cause__))
        return False
    return True


def _migrate(path: Path, lock_descriptor: int) -> None:
    # Older programs would break during a migration, and their requests would wait for it.
    with lock.used_alone(path, lock_descriptor):
        prepare(path)
