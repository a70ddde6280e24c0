"""PostgreSQL implementation of `store.driver`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

from feedkeep.model import Account, AccountId, T
from feedkeep.model.errors import AccountBusy
from feedkeep.store.driver import Driver, Job, Statements
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.rows import Row, account_of
from feedkeep.store.sql import Sql, sql
from feedkeep.store.tables import ACCOUNT_COLUMNS

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
        self._turns: WeakValueDictionary[AccountId, asyncio.Lock] = WeakValueDictionary()

    async def read(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        return await self._runner.read(lambda database: database.fetch(statement, *arguments))

    async def scan(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        return await self._runner.scan(lambda database: database.fetch(statement, *arguments))

    async def write(self, job: Job[T], account_id: AccountId | None = None) -> T:
        """Run a job, in turn with other jobs of an account; return its value once it is durable.

        Raises:
            AccountBusy: The earlier jobs of the account took too long.
        """
        if account_id is None:
            return await self._runner.write(job)
        async with self._turn_of(account_id):
            return await self._runner.write(job)

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
