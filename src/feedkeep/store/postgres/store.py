"""`PostgresStore`: the Store protocol on a PostgreSQL database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Self, TypeAlias, TypeVar

import asyncpg
import structlog

from feedkeep.model import AccountId, Now, Records, Stamp
from feedkeep.model.errors import StoreUnusable
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.base import Check, Store, StoreSize, StoreState
from feedkeep.store.batch import FailedBeforeCommit
from feedkeep.store.migrate import BeforeMigrating, migrate_at_once, pending_migrations
from feedkeep.store.postgres import archive, migration
from feedkeep.store.postgres.accounts import PostgresAccounts
from feedkeep.store.postgres.archive import PostgresArchive
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.entries import PostgresEntries
from feedkeep.store.postgres.feed_labels import PostgresFeedLabels
from feedkeep.store.postgres.runner import PostgresDriver, PostgresRunner, repeated
from feedkeep.store.postgres.tokens import PostgresTokens

_KIND = "PostgreSQL"

RETRY_SECONDS = 0.5
"""Interval between attempts to change tables that are in use."""

# Changes no row, but fails on a server that accepts no writes.
_CAN_WRITE = "UPDATE feedkeep.schema_version SET version = version WHERE false"
# The rights in docs/postgresql.md; `_CAN_WRITE` tests the excluded table.
_MISSING_RIGHTS = """
SELECT t.relname FROM pg_class t JOIN pg_namespace s ON s.oid = t.relnamespace
WHERE s.nspname = 'feedkeep' AND t.relkind IN ('r', 'p') AND t.relname <> 'schema_version'
AND NOT (has_schema_privilege(s.oid, 'USAGE')
    AND has_table_privilege(t.oid, 'SELECT') AND has_table_privilege(t.oid, 'INSERT')
    AND has_table_privilege(t.oid, 'UPDATE') AND has_table_privilege(t.oid, 'DELETE'))
ORDER BY t.relname
"""
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
# PostgreSQL before 16 has no reserved_connections. A limit of -1 means no limit.
_CONNECTION_LIMIT = """
SELECT min(connections)::int, pg_backend_pid() FROM (
    SELECT current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int
    UNION ALL SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user
    UNION ALL SELECT datconnlimit FROM pg_database WHERE datname = current_database()
) AS limits (connections) WHERE connections >= 0
"""
_SIZE = "SELECT pg_database_size(current_database())"
_ACCOUNTS = """
SELECT a.account_id, a.name_key, a.name FROM feedkeep.account a
WHERE a.account_id > $1 ORDER BY a.account_id LIMIT $2
"""
_NAMED = """
SELECT n.account_id, n.name_key FROM feedkeep.account_name n WHERE n.name_key = ANY($1::text[])
"""
_NAMES = """
SELECT n.name_key, n.account_id FROM feedkeep.account_name n
WHERE n.name_key > $1 ORDER BY n.name_key LIMIT $2
"""
_THERE = "SELECT a.account_id FROM feedkeep.account a WHERE a.account_id = ANY($1::bigint[])"

_ROWS_AT_ONCE = 5_000
"""Number of rows that one check for faults reads."""

_MAX_DAMAGES = 100
"""Maximum number of reported faults of a kind, as in SQLite."""

K = TypeVar("K")
_Looked: TypeAlias = tuple[K | None, list[str]]
"""The key of the last checked row, None without rows, and the names with faults."""
_Look: TypeAlias = Callable[[asyncpg.Connection, K], Awaitable[_Looked[K]]]
"""Checks the rows after a key."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class PostgresStore(Store):
    """A PostgreSQL database, with an object for each topic.

    Queued changes share a transaction, and queued reads of one kind share a statement. If the
    tables are split by account, only changes of accounts of one shard share a transaction, and many
    transactions run concurrently.
    """

    def __init__(self, runner: PostgresRunner, now: Now) -> None:
        """Use a database that is already migrated; callers use `open` instead."""
        self._runner = runner
        driver = PostgresDriver(runner)
        super().__init__(
            driver,
            now,
            PostgresEntries(runner, now),
            PostgresFeedLabels(driver, runner),
            PostgresAccounts(driver, runner),
            PostgresTokens(driver, runner),
        )

    @classmethod
    async def open(
        cls,
        url: str,
        max_connections: int,
        now: Now,
        *,
        as_if_split: bool = False,
        may_create: bool = True,
        before_migrating: BeforeMigrating = migrate_at_once,
        recorder: Recorder | None = None,
    ) -> Self:
        """Open the database, after creating or migrating feedkeep's tables.

        With `as_if_split`, statements have the shape for a cluster even if Citus splits no table.
        `recorder` counts batches and commits.

        Raises:
            StoreUnusable: The database is not feedkeep's, is too new for this program, or is empty
                although `may_create` is False; or the URL is not valid.
            StoreUnavailable: It cannot be reached.
        """
        connections = Connections(url, max_connections, recorder)
        await connections.open()
        try:
            is_distributed = await repeated(
                lambda: _prepare(connections, may_create, before_migrating)
            )
        except BaseException:
            await connections.close()
            raise
        connections.is_distributed = is_distributed
        is_split = is_distributed or as_if_split
        runner = PostgresRunner(
            connections, max_connections, is_distributed=is_split, recorder=recorder
        )
        return cls(runner, now)

    @staticmethod
    async def version(url: str) -> int:
        """Return the version of a database's schema, 0 without a schema; nothing is changed.

        Raises as `open` does.
        """
        connections = Connections(url, 1)
        await connections.open()

        async def found() -> int:
            async with connections.reading() as connection:
                return await migration.version(connection)

        try:
            return await repeated(found)
        finally:
            await connections.close()

    async def assert_ready(self) -> None:
        await self._runner.write(lambda connection: connection.execute(_CAN_WRITE))

    async def missing_rights(self) -> Sequence[str]:
        rows = await self._runner.read(lambda connections: connections.fetch(_MISSING_RIGHTS))
        return [name for (name,) in rows]

    async def clock(self) -> Stamp:
        [(now_us,)] = await self._runner.read(lambda connections: connections.fetch(_NOW))
        return Stamp(now_us)

    async def connection_limit(self) -> int | None:
        async def read(connections: Connections) -> int | None:
            async with connections.reading() as connection:
                limit, process_id = await connection.fetchrow(_CONNECTION_LIMIT)
                # A pooler invents process ids for its clients.
                return limit if process_id == connection.get_server_pid() else None

        return await self._runner.read(read)

    async def size(self) -> StoreSize:
        [(size_bytes,)] = await self._runner.read(lambda connections: connections.fetch(_SIZE))
        return StoreSize(_KIND, size_bytes)

    def state(self) -> StoreState:
        return StoreState(_KIND, pool=self._runner.connections.pool())

    async def faults(self) -> Sequence[str]:
        nameless = await self._found(_nameless, AccountId(0))
        orphaned = await self._found(_orphaned, "")
        return [f"account {name} cannot be found by its name" for name in nameless] + [
            f"the name {name} leads to an account that is missing" for name in orphaned
        ]

    async def distribute(self) -> AsyncIterator[str]:
        """Distribute the tables over the machines of a cluster; yield a sentence for each step.

        Raises:
            StoreUnusable: The database has no Citus.
        """
        for step in await self._runner.write(migration.steps_to_distribute):
            await self._runner.write(step.take)
            yield step.message

    @asynccontextmanager
    async def archive(self) -> AsyncIterator[PostgresArchive]:
        try:
            async with self._runner.connections.reading() as connection:
                await connection.execute(archive.TAKE_YOUR_TIME)
                yield PostgresArchive(connection)
        except FailedBeforeCommit as failure:
            raise failure.cause from failure

    async def fill(self, records: AsyncIterator[Records], check: Check | None = None) -> None:
        try:
            await self._runner.connections.transact(
                lambda connection: archive.fill(connection, records, check),
                archive.PATIENCE_SECONDS,
            )
        except FailedBeforeCommit as failure:
            raise failure.cause from failure

    async def close(self) -> None:
        await self._runner.close()

    async def _found(self, look: _Look[K], after: K) -> list[str]:
        """Check a table, a few thousand rows at a time, until many faults are found."""
        found: list[str] = []
        last: K | None = after
        while last is not None and len(found) < _MAX_DAMAGES:
            last, names = await repeated(partial(self._looked, look, last))
            found += names
        return found[:_MAX_DAMAGES]

    async def _looked(self, look: _Look[K], after: K) -> _Looked[K]:
        async with self._runner.connections.reading() as connection:
            return await look(connection, after)


async def _prepare(
    connections: Connections, may_create: bool, before_migrating: BeforeMigrating
) -> bool:
    """Migrate the database; return whether its tables are split by account."""
    async with connections.reading() as connection:
        version = await migration.version(connection)
    if version == 0 and not may_create:
        raise StoreUnusable(
            "The database has no tables of feedkeep. Name another one by --database or"
            " FEEDKEEP_DATABASE; `feedkeep account create` and `feedkeep serve` create them."
        )
    pending = pending_migrations("postgres", version)
    if pending.steps:
        if pending.found:
            await before_migrating(pending)
        await _bring_up_to_date(connections)
    async with connections.reading() as connection:
        return await migration.is_distributed(connection)


async def _bring_up_to_date(connections: Connections) -> None:
    """Migrate the database; retry while its tables are in use."""
    while True:
        try:
            return await connections.transact(migration.bring_up_to_date)
        except migration.TablesInUse as error:
            _log.warning("cannot lock tables for migration; will retry", reason=str(error))
            await asyncio.sleep(RETRY_SECONDS)


async def _nameless(connection: asyncpg.Connection, after: AccountId) -> _Looked[AccountId]:
    rows = await connection.fetch(_ACCOUNTS, after, _ROWS_AT_ONCE)
    names = await connection.fetch(_NAMED, [row[1] for row in rows])
    named = {(account_id, name_key) for account_id, name_key in names}
    last = AccountId(rows[-1][0]) if rows else None
    return last, [row[2] for row in rows if (row[0], row[1]) not in named]


async def _orphaned(connection: asyncpg.Connection, after: str) -> _Looked[str]:
    rows = await connection.fetch(_NAMES, after, _ROWS_AT_ONCE)
    accounts = await connection.fetch(_THERE, [row[1] for row in rows])
    there = {account_id for (account_id,) in accounts}
    last = rows[-1][0] if rows else None
    return last, [row[0] for row in rows if row[1] not in there]
