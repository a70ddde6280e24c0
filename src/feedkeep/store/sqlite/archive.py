"""Reading a snapshot of a SQLite file, and filling a file from an archive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import apsw

from feedkeep.model import AccountId, Records
from feedkeep.model.errors import StoreUnusable
from feedkeep.store.base import RECORDS_AT_ONCE, Check
from feedkeep.store.kinds import KINDS, every, kind_of
from feedkeep.store.sqlite.accounts import deleted
from feedkeep.store.sqlite.errors import Translating
from feedkeep.store.sqlite.rows import ROWS, insert_into
from feedkeep.store.tables import TABLES

_COUNT = "SELECT " + " + ".join(f"(SELECT count(*) FROM {table.name})" for table in TABLES)
_COUNT_OF = "SELECT " + " + ".join(
    f"(SELECT count(*) FROM {table.name} WHERE account_id = ?1)" for table in TABLES
)
_HAS_ACCOUNTS = "SELECT EXISTS (SELECT 1 FROM account)"


class SqliteArchive:
    """An archive on a connection in a transaction; reading blocks the event loop."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    async def count(self) -> int:
        with Translating():
            count: int = self._connection.execute(_COUNT).get
            gone = deleted(self._connection)
            for account_id in gone:
                count -= self._connection.execute(_COUNT_OF, (account_id,)).get
        return count

    async def records(self) -> AsyncIterator[Records]:
        with Translating():
            gone = frozenset(deleted(self._connection))
        for kind in KINDS:
            cursor = self._connection.execute(every(kind, ""))
            while chunk := _next(cursor):
                if rows := [row for row in chunk if row[0] not in gone]:
                    yield [(AccountId(row[0]), kind.read(ROWS, row)) for row in rows]


async def fill(
    connection: apsw.Connection, records: AsyncIterator[Records], check: Check | None
) -> None:
    """Write all records and call `check`, inside the caller's transaction."""
    if connection.execute(_HAS_ACCOUNTS).get:
        raise StoreUnusable("The target database has accounts already; name an empty one.")
    async for chunk in records:
        kind = kind_of(chunk[0][1])
        rows = [(account_id, *kind.write(ROWS, record)) for account_id, record in chunk]
        with Translating():
            connection.executemany(insert_into(kind.table), rows)
    if check is not None:
        await check(SqliteArchive(connection))


def _next(cursor: apsw.Cursor) -> list[tuple[Any, ...]]:
    with Translating():
        return [row for _, row in zip(range(RECORDS_AT_ONCE), cursor, strict=False)]
