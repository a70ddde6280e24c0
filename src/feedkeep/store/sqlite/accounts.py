"""Accounts in SQLite: access by name, and deletion."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import apsw
import structlog

from feedkeep.model import Account, AccountId, Person
from feedkeep.model.errors import NameTaken, StoreUnavailable
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.driver import Statements
from feedkeep.store.portable.accounts import CREATE, Accounts, CheckChange, anything_goes
from feedkeep.store.rows import account_of, key_range, new_account_row
from feedkeep.store.sql import AND_NOT_DELETED, for_sqlite, sql, sqlite_form
from feedkeep.store.sqlite.driver import SqliteDriver
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import (
    ACCOUNT_COLUMNS,
    ACCOUNTS,
    COUNTS,
    ENTRIES,
    TABLES,
    TOKENS,
    Table,
    columns,
)

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

_FIND = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.name_key = $1 {AND_NOT_DELETED}
""")
_PEOPLE = for_sqlite(f"""
SELECT (SELECT max(t.last_used) FROM token t WHERE t.account_id = a.account_id), {ACCOUNT_COLUMNS}
FROM account a WHERE a.name_key >= $1 AND a.name_key < $2 AND a.name_key <> $3 {AND_NOT_DELETED}
ORDER BY a.name_key LIMIT $4
""")
# Names contain no colon, so no request can find this one.
_MARK_DELETED = sql(f"""
UPDATE feedkeep.account SET name = '', name_key = ':' || account_id, password_hash = NULL,
    is_disabled = 1, is_admin = 0, identity = NULL, former_count = 0, action_count = 0,
    {", ".join(f"{name} = 0" for name in COUNTS)}
WHERE account_id = $1
""")
_END_TOKENS = sql("DELETE FROM feedkeep.token WHERE account_id = $1")
_END_ALL_GRANTS = sql("DELETE FROM feedkeep.login_grant WHERE account_id = $1")
_DELETED = "SELECT account_id FROM account WHERE name_key >= ':' AND name_key < ';'"
_DELETE = "DELETE FROM account WHERE account_id = ?"  # deletes its other rows, too


def _delete_some(table: Table, condition: str = "") -> str:
    key = columns(("account_id", *table.key))
    return f"""
        DELETE FROM {table.name} WHERE ({key}) IN (
            SELECT {key} FROM {table.name} WHERE account_id = ?{condition} LIMIT ?
        )
    """


_DELETE_SOME = (
    _delete_some(ENTRIES, " AND new_guid IS NOT NULL"),  # before the entries that they refer to
    *(_delete_some(table) for table in TABLES if table not in (ACCOUNTS, TOKENS)),
)
_ROWS_IN_A_STEP, _AT_ONCE = 1_000, 20
"""Number of rows of a deleted account per commit, and between pauses for other tasks."""

_STEPS_AT_ONCE = 20
"""Number of steps that a request to delete an account waits for; the rest follows later."""


class SqliteAccounts(Accounts):
    """The table `account`."""

    _are_there = sql(f"""
    SELECT EXISTS (SELECT 1 FROM feedkeep.account a WHERE a.account_id > 0 {AND_NOT_DELETED})
    """)

    def __init__(self, runner: SqliteRunner) -> None:
        super().__init__(SqliteDriver(runner))
        self._runner = runner

    async def find(self, name_key: str) -> Account | None:
        return self._runner.read(lambda connection: _find(connection, name_key))

    async def people(self, after: str, limit: int, beginning: str = "") -> list[Person]:
        def read(connection: apsw.Connection) -> list[Person]:
            rows = connection.execute(_PEOPLE, (*key_range(after, beginning), after, limit))
            return [Person(account_of(row), last_used) for last_used, *row in rows]

        return await self._runner.scan(read)

    async def taken(self, name_keys: Sequence[str]) -> set[str]:
        return await self._runner.scan(
            lambda connection: {key for key in name_keys if _find(connection, key)}
        )

    async def create_many(self, accounts: Sequence[tuple[Account, str]]) -> list[bool]:
        def create_if_free(connection: apsw.Connection, account: Account, name_key: str) -> bool:
            is_free = _find(connection, name_key) is None
            if is_free:
                connection.execute(sqlite_form(CREATE), new_account_row(account, name_key))
            return is_free

        return await self._runner.write(
            lambda connection: [create_if_free(connection, *account) for account in accounts]
        )

    async def _create(self, statements: Statements, account: Account, name_key: str) -> None:
        row = await statements.fetchrow(_FIND, name_key)
        if row is not None:
            raise NameTaken(account_of(row).name)
        await statements.execute(CREATE, *new_account_row(account, name_key))

    async def delete(self, account_id: AccountId, check: CheckChange = anything_goes) -> None:
        """Mark the account, which hides it at once, and delete its rows in small steps.

        An account may have a million rows, and one step for all would block other writers. Nearly
        all accounts have so few rows that no step remains for later.
        """

        async def mark(statements: Statements, account: Account) -> None:
            await self._check(statements, account, check)
            for statement in (_MARK_DELETED, _END_TOKENS, _END_ALL_GRANTS):
                await statements.execute(statement, account_id)

        await self._driver.change_if_there(account_id, mark)
        try:
            await self._delete_rows(account_id, _STEPS_AT_ONCE)
        except StoreUnavailable as error:
            _log.warning("cannot delete rows of deleted account; will retry", reason=str(error))

    async def finish_deleting(self) -> None:
        for account_id in self._runner.read(deleted):
            await self._delete_rows(account_id)

    async def _delete_rows(self, account_id: AccountId, max_steps: int = sys.maxsize) -> None:
        step = partial(_delete_step, account_id=account_id)
        for _ in range(max_steps):
            if await self._runner.write_in_turns(step, account_id, _ROWS_IN_A_STEP):
                return


def _delete_step(connection: apsw.Connection, account_id: AccountId) -> Yielding[bool]:
    """Delete some rows of a marked account, finally its own; return whether it is gone."""
    left = _ROWS_IN_A_STEP
    for statement in _DELETE_SOME:
        while True:
            connection.execute(statement, (account_id, _AT_ONCE))
            deleted = connection.changes()
            left -= deleted
            if left <= 0:
                return False
            if deleted < _AT_ONCE:
                break
            yield None
    connection.execute(_DELETE, (account_id,))
    return True


def deleted(connection: apsw.Connection) -> list[AccountId]:
    """Return the marked accounts that still have rows."""
    return [AccountId(account_id) for (account_id,) in connection.execute(_DELETED)]


def _find(connection: apsw.Connection, name_key: str) -> Account | None:
    row = connection.execute(sqlite_form(_FIND), (name_key,)).get
    return account_of(row) if row else None
