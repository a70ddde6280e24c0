"""Interface between code for both databases and each database: statements and transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias

from feedkeep.model import Account, AccountId, Guid, T
from feedkeep.model.errors import NotAuthorized
from feedkeep.store.rows import Row, Rows
from feedkeep.store.sql import Sql


class Statements(Protocol):
    """Executes statements in a transaction."""

    async def fetch(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        """Return all rows, of which there must be few."""

    async def fetchrow(self, statement: Sql, *arguments: Any) -> Row | None:
        """Return the first row; None without rows."""

    async def fetchval(self, statement: Sql, *arguments: Any) -> Any:
        """Return the first column of the first row; None without rows."""

    async def execute(self, statement: Sql, *arguments: Any) -> Any:
        """Execute a statement that returns no rows."""

    async def update(self, statement: Sql, *arguments: Any) -> int:
        """Execute a statement that returns no rows; return the number of changed rows."""

    async def executemany(self, statement: Sql, rows: Sequence[Row]) -> Any:
        """Execute a statement for each row of parameters."""

    async def find_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> Sequence[Row]:
        """Return all rows that a statement of `sql.find_each` finds for rows of parameters.

        The first parameters, `shared`, are the same for all rows.
        """

    async def write_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> None:
        """Execute a statement of `sql.save_each`, `sql.delete_each` or `sql.insert_each`.

        Raises:
            NotAllWritten: PostgreSQL wrote a different number of rows.
        """


Job: TypeAlias = Callable[[Statements], Coroutine[Any, Any, T]]
"""Work inside a transaction, which awaits only statements and may run more than once."""

AccountJob: TypeAlias = Callable[[Statements, Account], Coroutine[Any, Any, T]]
"""A job about an account, which it is given as stored; the account is locked until the commit."""


class Driver(ABC):
    """Reads and transactions of a database.

    Attributes:
        rows: Translation between values and rows.
        rows_at_once: Number of rows that a job handles between two calls of `pause`.
        is_distributed: Whether tables are split over several machines. A transaction that writes
            rows without an account then writes those of one guid, so that its commit has one phase.
    """

    rows: Rows
    rows_at_once: int
    is_distributed = False

    @abstractmethod
    async def read(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        """Read a few rows."""

    @abstractmethod
    async def scan(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        """Read many rows, without delaying other reads."""

    @abstractmethod
    async def find_guids(self, statement: Sql, guids: Collection[Guid]) -> Sequence[Row]:
        """Return all rows that a statement of `sql.find_guids` finds for guids."""

    @abstractmethod
    async def find_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> Sequence[Row]:
        """Return rows as `Statements.find_each` does, without delaying other reads."""

    @abstractmethod
    async def write(self, job: Job[T], account_id: AccountId | None = None) -> T:
        """Run a job, in turn with other jobs of an account; return its value once it is durable."""

    @abstractmethod
    async def write_rows(self, statement: Sql, rows: Sequence[Row], *shared: Any) -> int:
        """Execute a statement for each row of parameters; return the number of changed rows.

        The last parameters, `shared`, are the same for all rows. There are as many transactions as
        are needed to delay no other job for long. On PostgreSQL, only a statement of
        `sql.change_each` or `sql.insert_each` changes several rows in a transaction; so no other
        transaction waits while it holds a lock.
        """

    @abstractmethod
    async def pause(self) -> None:
        """Let other tasks run in the middle of a job of `change_in_turns`."""

    @abstractmethod
    async def lock_out_others(self, statements: Statements) -> None:
        """Exclude other transactions that call this, until this transaction ends."""

    @abstractmethod
    async def _hold(self, statements: Statements, account_id: AccountId) -> Account | None:
        """Lock an account until the end of the transaction; return it, or None if it is deleted."""

    async def change(self, account_id: AccountId, job: AccountJob[T]) -> T:
        """Run a job about an account as `write` does.

        Raises:
            NotAuthorized: The account is deleted.
        """
        return await self.write(self._held(account_id, job), account_id)

    async def change_in_turns(self, account_id: AccountId, job: AccountJob[T], _weight: int) -> T:
        """Run a job of many rows as `change` does; the job regularly awaits `pause`."""
        return await self.change(account_id, job)

    async def change_if_there(self, account_id: AccountId, job: AccountJob[T]) -> T | None:
        """Run a job as `change` does; return None without running it if the account is deleted."""

        async def held(statements: Statements) -> T | None:
            account = await self._hold(statements, account_id)
            return None if account is None else await job(statements, account)

        return await self.write(held, account_id)

    def _held(self, account_id: AccountId, job: AccountJob[T]) -> Job[T]:
        async def held(statements: Statements) -> T:
            account = await self._hold(statements, account_id)
            if account is None:
                raise NotAuthorized
            return await job(statements, account)

        return held
