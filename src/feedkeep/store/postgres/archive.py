"""Reading a snapshot of a PostgreSQL database, and filling a database from an archive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg

from feedkeep.model import AccountId, AccountRecord, Records
from feedkeep.model.errors import StoreUnusable
from feedkeep.store.base import RECORDS_AT_ONCE, Check
from feedkeep.store.kinds import KINDS, every, kind_of
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.tables import TABLES

PATIENCE_SECONDS = 86_400.0
"""Timeout of a statement that reads or writes whole tables."""

_COUNT = "SELECT " + " + ".join(f"(SELECT count(*) FROM feedkeep.{table.name})" for table in TABLES)
_HAS_ACCOUNTS = "SELECT EXISTS (SELECT 1 FROM feedkeep.account)"

TAKE_YOUR_TIME = "SET LOCAL idle_in_transaction_session_timeout = 0"
"""Disables the idle timeout of a transaction that waits for another database."""

# References are checked per row, so that no list of checks grows until the commit. One statement at
# a time: Citus forwards the whole command string to the machines with the rows.
_PREPARE = (
    TAKE_YOUR_TIME,
    "SET CONSTRAINTS ALL IMMEDIATE",
    "LOCK TABLE feedkeep.account IN EXCLUSIVE MODE",
)
# Without statistics, the first requests would be planned badly.
_LOOK_AT_WHAT_IS_THERE = (
    "ANALYZE feedkeep.account, feedkeep.token, feedkeep.entry, feedkeep.former_entry,"
    " feedkeep.feed_label, feedkeep.episode_action, feedkeep.document"
)


class PostgresArchive:
    """An archive on a connection in a transaction with a snapshot of the database."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def count(self) -> int:
        count: int = await self._connection.fetchval(_COUNT, timeout=PATIENCE_SECONDS)
        return count

    async def records(self) -> AsyncIterator[Records]:
        for kind in KINDS:
            statement = every(kind, "feedkeep.")
            cursor = await self._connection.cursor(statement, timeout=PATIENCE_SECONDS)
            while chunk := await cursor.fetch(RECORDS_AT_ONCE, timeout=PATIENCE_SECONDS):
                yield [(AccountId(row[0]), kind.read(ROWS, row)) for row in chunk]


async def fill(
    connection: asyncpg.Connection, records: AsyncIterator[Records], check: Check | None
) -> None:
    """Write all records and call `check`, inside the caller's transaction."""
    for statement in _PREPARE:
        await connection.execute(statement)
    if await connection.fetchval(_HAS_ACCOUNTS):
        raise StoreUnusable("The target database has accounts already; name an empty one.")
    async for chunk in records:
        kind = kind_of(chunk[0][1])
        rows = [(account_id, *kind.write(ROWS, record)) for account_id, record in chunk]
        await _put(connection, kind.table.name, ("account_id", *kind.table.columns), rows)
        keys = [
            (record.name_key, owner) for owner, record in chunk if isinstance(record, AccountRecord)
        ]
        if keys:
            await _put(connection, "account_name", ("name_key", "account_id"), keys)
    await connection.execute(_LOOK_AT_WHAT_IS_THERE, timeout=PATIENCE_SECONDS)
    if check is not None:
        await check(PostgresArchive(connection))


async def _put(
    connection: asyncpg.Connection,
    table: str,
    names: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
) -> None:
    await connection.copy_records_to_table(
        table, schema_name="feedkeep", columns=names, records=rows, timeout=PATIENCE_SECONDS
    )
