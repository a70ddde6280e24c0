"""Accounts and their clocks in SQLite."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from feedkeep.errors import AccountError, NotAuthorized
from feedkeep.model import Account, AccountId, Clock, Stamp
from feedkeep.store.rows import account_of
from feedkeep.store.sqlite.runner import Runner
from feedkeep.store.tables import ACCOUNT, columns

ACCOUNT_COLUMNS = f"a.id, {columns(ACCOUNT, 'a')}"

_FIND = f"SELECT {ACCOUNT_COLUMNS} FROM account a WHERE a.name_key = ?"
_WITH_ID = f"SELECT {ACCOUNT_COLUMNS} FROM account a WHERE a.id = ?"
_ALL = f"SELECT {ACCOUNT_COLUMNS} FROM account a ORDER BY a.name_key"
_ARE_THERE = "SELECT EXISTS (SELECT 1 FROM account)"
_CREATE = """
INSERT INTO account (id, name, name_key, password_hash, is_disabled, created)
VALUES (?, ?, ?, ?, ?, ?)
"""
_IS_LET_IN = """
SELECT EXISTS (SELECT 1 FROM account WHERE id = ? AND password_hash IS ? AND NOT is_disabled)
"""
_SET_PASSWORD = "UPDATE account SET password_hash = ? WHERE id = ?"
_SET_DISABLED = "UPDATE account SET is_disabled = ? WHERE id = ?"
_END_SESSIONS = "DELETE FROM token WHERE account_id = ? AND is_session AND of_token IS NULL"
_END_GRANTS = "DELETE FROM login_grant WHERE account_id = ? AND fetched IS NULL"
_DELETE = "DELETE FROM account WHERE id = ?"  # its rows in other tables go with it
_CLOCKS = {Clock.SUBSCRIPTIONS: "last_stamp", Clock.ACTIONS: "last_action_stamp"}


class SqliteAccounts:
    """The table `account`."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def find(self, name_key: str) -> Account | None:
        return self._runner.read(lambda connection: _find(connection, name_key))

    async def all(self) -> list[Account]:
        return await self._runner.scan(
            lambda connection: [account_of(row) for row in connection.execute(_ALL)]
        )

    async def are_there(self) -> bool:
        return self._runner.read(lambda connection: bool(connection.execute(_ARE_THERE).get))

    async def create(self, account: Account, name_key: str) -> None:
        def create(connection: apsw.Connection) -> None:
            taken = _find(connection, name_key)
            if taken is not None:
                raise AccountError(f"There is an account {taken.name} already.")
            values = (account.id, account.name, name_key, account.password_hash)
            connection.execute(_CREATE, (*values, account.is_disabled, account.created))

        await self._runner.write(create)

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        def set_password(connection: apsw.Connection) -> None:
            connection.execute(_SET_PASSWORD, (password_hash, account_id))
            connection.execute(_END_SESSIONS, (account_id,))
            connection.execute(_END_GRANTS, (account_id,))

        await self._runner.write(set_password)

    async def set_disabled(self, account_id: AccountId, is_disabled: bool) -> None:
        def set_disabled(connection: apsw.Connection) -> None:
            connection.execute(_SET_DISABLED, (is_disabled, account_id))
            connection.execute(_END_GRANTS, (account_id,))

        await self._runner.write(set_disabled)

    async def delete(self, account_id: AccountId) -> None:
        await self._runner.write(lambda connection: connection.execute(_DELETE, (account_id,)))

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        def advance(connection: apsw.Connection) -> Stamp:
            stamp = to(read_clock(connection, account_id, clock))
            set_clock(connection, account_id, clock, stamp)
            return stamp

        return await self._runner.write(advance)


def with_id(connection: apsw.Connection, account_id: AccountId) -> Account | None:
    """Return the account with that id, if there is one."""
    row = connection.execute(_WITH_ID, (account_id,)).get
    return account_of(row) if row else None


def is_still_let_in(connection: apsw.Connection, account: Account) -> bool:
    """Say whether the password of `account` is still its password, and it is not disabled."""
    return bool(connection.execute(_IS_LET_IN, (account.id, account.password_hash)).get)


def read_clock(connection: apsw.Connection, account_id: AccountId, clock: Clock) -> Stamp:
    """Return a clock.

    Raises:
        NotAuthorized: The account is gone.
    """
    statement = f"SELECT {_CLOCKS[clock]} FROM account WHERE id = ?"
    found: Stamp | None = connection.execute(statement, (account_id,)).get
    if found is None:
        raise NotAuthorized
    return found


def set_clock(
    connection: apsw.Connection, account_id: AccountId, clock: Clock, stamp: Stamp
) -> None:
    """Set a clock."""
    connection.execute(f"UPDATE account SET {_CLOCKS[clock]} = ? WHERE id = ?", (stamp, account_id))


def _find(connection: apsw.Connection, name_key: str) -> Account | None:
    row = connection.execute(_FIND, (name_key,)).get
    return account_of(row) if row else None
