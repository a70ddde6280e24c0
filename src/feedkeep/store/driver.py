"""What topics that are written once for both databases need: statements, in transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias

from feedkeep.model import Account, AccountId, T
from feedkeep.model.errors import NotAuthorized
from feedkeep.store.rows import Row, Rows
from feedkeep.store.sql import Sql


class Statements(Protocol):
    """Executes statements in a transaction."""

    async def fetch(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        """Return all rows, of which there must be few."""

    async def fetchrow(self, statement: Sql, *arguments: Any) -> Row | None:
        """Return the first row, if there is one."""

    async def fetchval(self, statement: Sql, *arguments: Any) -> Any:
        """Return the first column of the first row; None if there is none."""

    async def execute(self, statement: Sql, *arguments: Any) -> Any:
        """Execute a statement that returns no rows."""

    async def executemany(self, statement: Sql, rows: Sequence[Row]) -> Any:
        """Execute a statement for each row of parameters."""

    async def find_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> Sequence[Row]:
        """Return all rows that a statement of `sql.find_each` finds for rows of parameters.

        The first parameters are `shared` by all rows.
        """

    async def write_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> None:
        """Execute a statement of `sql.save_each`, `sql.delete_each` or `sql.insert_each`.

        Raises:
            NotAllWritten: PostgreSQL wrote another number of rows.
        """


Job: TypeAlias = Callable[[Statements], Coroutine[Any, Any, T]]
"""Work inside a transaction, which awaits nothing but statements; it may run more than once."""

AccountJob: TypeAlias = Callable[[Statements, Account], Coroutine[Any, Any, T]]
"""A job about an account, which is given as it is; nothing else changes it before the commit."""


class Driver(ABC):
    """Reads and transactions of a database.

    Attributes:
        rows: How the database writes guids.
        rows_at_once: How many rows a job handles between two calls of `pause`.
    """

    rows: Rows
    rows_at_once: int

    @abstractmethod
    async def read(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        """Read a few rows."""

    @abstractmethod
    async def scan(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        """Read what may take long; other reads do not wait for it."""

    @abstractmethod
    async def write(self, job: Job[T], account_id: AccountId | None = None) -> T:
        """Run a job in the turn of an account, if one is named; return its value when durable."""

    @abstractmethod
    async def pause(self) -> None:
        """Let other tasks run in the middle of a job of `change_in_turns`."""

    @abstractmethod
    async def lock_out_others(self, statements: Statements) -> None:
        """Let no other transaction that asks for this do so until this one ends."""

    @abstractmethod
    async def _hold(self, statements: Statements, account_id: AccountId) -> Account | None:
        """Lock an account until the end of the transaction; return it, if it is there."""

    async def change(self, account_id: AccountId, job: AccountJob[T]) -> T:
        """Run a job about an account as `write` does.

        Raises:
            NotAuthorized: The account is gone.
        """
        return await self.write(self._held(account_id, job), account_id)

    async def change_in_turns(self, account_id: AccountId, job: AccountJob[T], _weight: int) -> T:
        """Do what `change` does, for a job of many rows that awaits `pause` between some."""
        return await self.change(account_id, job)

    async def change_if_there(self, account_id: AccountId, job: AccountJob[T]) -> T | None:
        """Do what `change` does; if the account is gone, do nothing and return None."""

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
