"""SQLite implementation of `store.driver`."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable, Sequence
from functools import partial
from types import coroutine
from typing import Any

import apsw

from feedkeep.model import Account, AccountId, Guid, T
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.driver import AccountJob, Driver, Job, Statements
from feedkeep.store.rows import Row, account_of, in_parts
from feedkeep.store.sql import AND_NOT_DELETED, Sql, sql, sqlite_form
from feedkeep.store.sqlite.connection import one_moment
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.store.sqlite.runner import SqliteRunner, undone_if_refused
from feedkeep.store.tables import ACCOUNT_COLUMNS

_WITH_ID = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1 {AND_NOT_DELETED}
""")

_FEW_GUIDS = 20
"""Maximum number of guids that are looked up on the event loop, within 1 ms."""

_WRITTEN_AT_ONCE = 100
"""Maximum number of rows per commit of `write_rows`, so that other requests need not wait long."""


class SqliteStatements:
    """Executes each statement synchronously, so that no other task runs during an await."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    async def fetch(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        return self._connection.execute(sqlite_form(statement), arguments).fetchall()

    async def fetchrow(self, statement: Sql, *arguments: Any) -> Row | None:
        rows = await self.fetch(statement, *arguments)
        return rows[0] if rows else None

    async def fetchval(self, statement: Sql, *arguments: Any) -> Any:
        rows = await self.fetch(statement, *arguments)
        return rows[0][0] if rows else None

    async def execute(self, statement: Sql, *arguments: Any) -> None:
        self._connection.execute(sqlite_form(statement), arguments)

    async def update(self, statement: Sql, *arguments: Any) -> int:
        self._connection.execute(sqlite_form(statement), arguments)
        return self._connection.changes()

    async def executemany(self, statement: Sql, rows: Sequence[Row]) -> None:
        self._connection.executemany(sqlite_form(statement), rows)

    async def find_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> Sequence[Row]:
        return self._each(statement, rows, shared).fetchall()

    async def write_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> None:
        self._each(statement, rows, shared)

    def _each(self, statement: Sql, rows: Collection[Row], shared: Row) -> apsw.Cursor:
        parameters = [(*shared, *row) for row in rows]
        return self._connection.executemany(sqlite_form(statement), parameters)


class SqliteDriver(Driver):
    """Runs jobs as jobs of the single writer."""

    rows = ROWS
    rows_at_once = 10  # within 1 ms

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def read(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        text = sqlite_form(statement)
        return self._runner.read(lambda connection: connection.execute(text, arguments).fetchall())

    async def scan(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        text = sqlite_form(statement)
        return await self._runner.scan(
            lambda connection: connection.execute(text, arguments).fetchall()
        )

    async def find_guids(self, statement: Sql, guids: Collection[Guid]) -> Sequence[Row]:
        def read(connection: apsw.Connection) -> Sequence[Row]:
            keys = apsw.carray(tuple(map(to_bytes, guids)))
            return connection.execute(sqlite_form(statement), (keys,)).fetchall()

        if not guids:
            return ()
        is_short = len(guids) <= _FEW_GUIDS
        return self._runner.read(read) if is_short else await self._runner.scan(read)

    async def find_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> Sequence[Row]:
        def read(connection: apsw.Connection) -> Sequence[Row]:
            with one_moment(connection):  # a transaction for each row would take most of the time
                return done(SqliteStatements(connection).find_each(statement, rows, *shared))

        return await self._runner.scan(read)

    async def write(self, job: Job[T], account_id: AccountId | None = None) -> T:
        return await self._runner.write(
            lambda connection: done(job(SqliteStatements(connection))), account_id
        )

    async def change_in_turns(self, account_id: AccountId, job: AccountJob[T], weight: int) -> T:
        held = self._held(account_id, job)
        in_parts = undone_if_refused(lambda connection: _parts(held(SqliteStatements(connection))))
        return await self._runner.write_in_turns(in_parts, account_id, weight)

    async def write_rows(self, statement: Sql, rows: Sequence[Row], *shared: Any) -> int:
        changed = 0
        for some in in_parts(rows, _WRITTEN_AT_ONCE):
            job = partial(_each, sqlite_form(statement), [(*row, *shared) for row in some])
            changed += await self._runner.write_in_turns(job, weight=len(some))
        return changed

    async def pause(self) -> None:
        await _yielded()

    async def lock_out_others(self, statements: Statements) -> None:
        """No effect: the transaction already excludes other writers."""

    async def _hold(self, statements: Statements, account_id: AccountId) -> Account | None:
        row = await statements.fetchrow(_WITH_ID, account_id)
        return account_of(row) if row else None


def _each(text: str, rows: Iterable[Row], connection: apsw.Connection) -> Yielding[int]:
    changed = 0
    for row in rows:
        connection.execute(text, row)
        changed += connection.changes()
        yield None
    return changed


@coroutine
def _yielded() -> Yielding[None]:
    """Awaitable that makes `_parts` yield, so that other tasks may run."""
    yield None


def _parts(work: Coroutine[Any, Any, T]) -> Yielding[T]:
    """Convert a coroutine to a job for the runner, which yields where it awaits `pause`."""
    return (yield from work.__await__())


def done(work: Coroutine[Any, Any, T]) -> T:
    """Run work that awaits only statements of SQLite; return its value."""
    try:
        work.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    work.close()
    raise RuntimeError("a job of SQLite waits for something else than statements")


def there(connection: apsw.Connection, account_id: AccountId) -> Account:
    """Return the account with an id.

    Raises:
        NotAuthorized: The account is deleted.
    """
    account = with_id(connection, account_id)
    if account is None:
        raise NotAuthorized
    return account


def with_id(connection: apsw.Connection, account_id: AccountId) -> Account | None:
    row = connection.execute(sqlite_form(_WITH_ID), (account_id,)).get
    return account_of(row) if row else None
