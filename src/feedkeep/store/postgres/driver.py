"""Statements that are written once for both databases, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedkeep.model import Account, AccountId, T
from feedkeep.store.driver import Driver, Job, Statements
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.row_readers import Row
from feedkeep.store.rows import account_of
from feedkeep.store.tables import ACCOUNT, columns

ACCOUNT_COLUMNS = f"a.account_id, {columns(ACCOUNT, 'a')}"

_HOLD = f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1 FOR NO KEY UPDATE
"""
# What is to hold for all accounts together has no row that could be locked: whoever takes a right
# away from an administrator, or creates the first account, takes this lock, the letters "fkad".
_LOCK_OUT_OTHERS = f"SELECT pg_advisory_xact_lock({0x666B6164})"


class PostgresDriver(Driver):
    """Runs what is written once for both databases, each job in a transaction of its own."""

    rows = ROWS

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner

    async def read(self, statement: str, *arguments: Any) -> Sequence[Row]:
        return await self._runner.read(lambda database: database.fetch(statement, *arguments))

    async def scan(self, statement: str, *arguments: Any) -> Sequence[Row]:
        return await self._runner.scan(lambda database: database.fetch(statement, *arguments))

    async def write(self, job: Job[T], _account_id: AccountId | None = None) -> T:
        return await self._runner.write(job)

    async def lock_out_others(self, statements: Statements) -> None:
        await statements.execute(_LOCK_OUT_OTHERS)

    async def _hold(self, statements: Statements, account_id: AccountId) -> Account | None:
        """Later statements see all that was committed before."""
        row = await statements.fetchrow(_HOLD, account_id)
        return account_of(row) if row else None
