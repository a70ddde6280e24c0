"""Everything in a SQLite file, read at one moment; and everything written to one, at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import apsw

from feedkeep.errors import StoreUnusable
from feedkeep.model import AccountId, Document, DocumentKind, Record, Records
from feedkeep.store.base import RECORDS_AT_ONCE, Check
from feedkeep.store.rows import (
    ACTION,
    DELETION,
    DOCUMENT,
    ENTRY,
    OWNER,
    TOKEN,
    columns,
    owner_of,
    table_of,
    token_of,
)
from feedkeep.store.sqlite.connection import Translating
from feedkeep.store.sqlite.rows import ROWS

_COUNT = """
SELECT (SELECT count(*) FROM account) + (SELECT count(*) FROM token)
     + (SELECT count(*) FROM deletion) + (SELECT count(*) FROM entry)
     + (SELECT count(*) FROM episode_action) + (SELECT count(*) FROM document)
"""
_HAS_ACCOUNTS = "SELECT EXISTS (SELECT 1 FROM account)"

_READ_ENTRIES = f"SELECT account_id, {columns(ENTRY)} FROM entry WHERE new_guid"
_KINDS: tuple[tuple[str, Callable[[Sequence[Any]], Record]], ...] = (
    (f"SELECT id, {columns(OWNER)} FROM account ORDER BY id", owner_of),
    (
        f"SELECT account_id, {columns(TOKEN)} FROM token ORDER BY account_id, id",
        lambda row: token_of(row[1:]),
    ),
    (
        f"SELECT account_id, {columns(DELETION)} FROM deletion ORDER BY account_id, id",
        lambda row: ROWS.deletion_of(row[1:]),
    ),
    (f"{_READ_ENTRIES} IS NULL ORDER BY account_id, guid", lambda row: ROWS.entry_of(row[1:])),
    (f"{_READ_ENTRIES} IS NOT NULL ORDER BY account_id, guid", lambda row: ROWS.entry_of(row[1:])),
    (
        f"SELECT account_id, {columns(ACTION)} FROM episode_action"
        " ORDER BY account_id, podcast_guid, key",
        lambda row: ROWS.action_of(row[1:]),
    ),
    (
        f"SELECT account_id, {columns(DOCUMENT)} FROM document ORDER BY account_id, kind, name",
        lambda row: Document(DocumentKind(row[1]), *row[2:]),
    ),
)


class SqliteArchive:
    """A connection in a transaction. It holds the event loop up while it reads."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    async def count(self) -> int:
        with Translating():
            count: int = self._connection.execute(_COUNT).get
        return count

    async def records(self) -> AsyncIterator[Records]:
        for statement, read in _KINDS:
            cursor = self._connection.execute(statement)
            while some := _next(cursor):
                yield [(AccountId(row[0]), read(row)) for row in some]


async def fill(
    connection: apsw.Connection, records: AsyncIterator[Records], check: Check | None
) -> None:
    """Write all records, and let `check` look; the transaction around it is the caller's."""
    if connection.execute(_HAS_ACCOUNTS).get:
        raise StoreUnusable("There are accounts in it already.")
    async for some in records:
        _put(connection, _insert(some[0][1]), [ROWS.record_row(*item) for item in some])
    if check is not None:
        await check(SqliteArchive(connection))


def _next(cursor: apsw.Cursor) -> list[tuple[Any, ...]]:
    with Translating():
        return [row for _, row in zip(range(RECORDS_AT_ONCE), cursor, strict=False)]


def _put(connection: apsw.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    with Translating():
        connection.executemany(statement, rows)


def _insert(record: Record) -> str:
    table, names = table_of(record)
    all_names = ("id" if table == "account" else "account_id", *names)
    places = ", ".join("?" * len(all_names))
    return f"INSERT INTO {table} ({columns(all_names)}) VALUES ({places})"
