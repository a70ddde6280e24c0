"""PostgreSQL implementation of `store.driver`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from operator import methodcaller
from typing import Any
from weakref import WeakValueDictionary

from feedkeep.model import Account, AccountId, Guid, T
from feedkeep.model.errors import AccountBusy
from feedkeep.store.driver import Driver, Job, Statements
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.counted import changed_rows
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.postgres.shape import as_columns
from feedkeep.store.rows import Row, account_of, in_parts
from feedkeep.store.sql import Sql, one_row_form, sql
from feedkeep.store.tables import ACCOUNT_COLUMNS

_GUIDS_AT_ONCE = 100
"""Maximum number of guids per statement; with many more, PostgreSQL reads the whole table."""

TURN_SECONDS = 5.0
"""Maximum time that a job waits for earlier jobs of the same account in this process."""

_HOLD = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1 FOR NO KEY UPDATE
""")
# Rules about all accounts together have no row to lock: whoever revokes administrator rights or
# creates the first account takes this lock, the letters "fkad".
_LOCK_OUT_OTHERS = sql(f"SELECT pg_advisory_xact_lock({0x666B6164})")


class PostgresDriver(Driver):
    """Runs each job in its own transaction.

    The jobs of an account take turns before they take a connection. PostgreSQL would serialize
    them, too, but each waiting job would hold a connection that another account could use, and the
    lock timeout would apply to the jobs of all processes together.
    """

    rows = ROWS
    rows_at_once = 250  # a statement of some milliseconds

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner
        self.is_distributed = runner.shape.is_distributed
        self._turns: WeakValueDictionary[AccountId, asyncio.Lock] = WeakValueDictionary()

    async def read(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        return await self._runner.read(lambda database: database.fetch(statement, *arguments))

    async def scan(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        return await self._runner.scan(lambda database: database.fetch(statement, *arguments))

    async def find_guids(self, statement: Sql, guids: Collection[Guid]) -> Sequence[Row]:
        async def read(database: Connections) -> Sequence[Row]:
            parts = in_parts([*guids], _GUIDS_AT_ONCE)
            return [row for some in parts for row in await database.fetch(statement, some)]

        return await self._runner.scan(read)

    async def write(self, job: Job[T], account_id: AccountId | None = None) -> T:
        """Run a job, in turn with other jobs of an account; return its value once it is durable.

        Raises:
            AccountBusy: The earlier jobs of the account took too long.
        """
        if account_id is None:
            return await self._runner.write(job)
        async with self._turn_of(account_id):
            return await self._runner.write(job)

    async def write_rows(self, statement: Sql, rows: Sequence[Row], *shared: Any) -> int:
        one_row = one_row_form(statement)
        if self.is_distributed or one_row == statement:
            jobs = [methodcaller("execute", one_row, *row, *shared) for row in rows]
        else:
            jobs = [
                methodcaller("execute", statement, *as_columns(some), *shared)
                for some in in_parts(rows, _GUIDS_AT_ONCE)
            ]
        return sum([changed_rows(await self._runner.write(job)) for job in jobs])

    @asynccontextmanager
    async def _turn_of(self, account_id: AccountId) -> AsyncIterator[None]:
        # A lock is kept while a job waits or runs, and dropped after the last of them.
        turn = self._turns.setdefault(account_id, asyncio.Lock())
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await turn.acquire()
        except TimeoutError:
            raise AccountBusy("The account's earlier changes take too long.") from None
        try:
            yield
        finally:
            turn.release()

    async def pause(self) -> None:
        """No effect: other tasks run while the server executes a statement."""

    async def lock_out_others(self, statements: Statements) -> None:
        await statements.execute(_LOCK_OUT_OTHERS)

    async def _hold(self, statements: Statements, account_id: AccountId) -> Account | None:
        """Lock an account's row; later statements see all that was committed before."""
        row = await statements.fetchrow(_HOLD, account_id)
        return account_of(row) if row else None
