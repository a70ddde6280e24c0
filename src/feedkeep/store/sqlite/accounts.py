"""Accounts and their clocks in SQLite."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

import apsw
import structlog

from feedkeep.model import Account, AccountId, Clock, Person, Stamp, Token
from feedkeep.model.errors import NameTaken, NotAuthorized, StoreUnavailable
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.base import CheckChange, DecideRestored, DecideStamps, anything_goes
from feedkeep.store.rows import account_of, key_range, restored_row, stamped_row, token_of
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.sqlite.stamping import restamp
from feedkeep.store.tables import (
    ACCOUNT,
    ACCOUNTS,
    COUNTS,
    ENTRIES,
    ENTRY,
    RESTORED,
    STAMPED,
    TABLES,
    TOKEN,
    TOKENS,
    Table,
    columns,
)

ACCOUNT_COLUMNS = f"a.id, {columns(ACCOUNT, 'a')}"
IS_THERE = "name_key NOT BETWEEN ':' AND ';'"
"""The condition that leaves out accounts that are deleted, and whose rows are not all gone yet."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

_FIND = f"SELECT {ACCOUNT_COLUMNS} FROM account a WHERE a.name_key = ? AND {IS_THERE}"
_WITH_ID = f"SELECT {ACCOUNT_COLUMNS} FROM account a WHERE a.id = ? AND {IS_THERE}"
_COUNT = f"SELECT count(*) FROM account WHERE id > ? AND {IS_THERE}"
_BY_ID = f"""
SELECT {ACCOUNT_COLUMNS} FROM account a WHERE a.id > ? AND {IS_THERE} ORDER BY a.id LIMIT ?
"""
_PEOPLE = f"""
SELECT (SELECT max(t.last_used) FROM token t WHERE t.account_id = a.id), {ACCOUNT_COLUMNS}
FROM account a WHERE a.name_key >= ? AND a.name_key < ? AND a.name_key <> ? AND {IS_THERE}
ORDER BY a.name_key LIMIT ?
"""
_ADMINISTRATORS = f"""
SELECT {ACCOUNT_COLUMNS} FROM account a WHERE a.is_admin AND NOT a.is_disabled
ORDER BY a.created, a.id
"""
_COUNT_OTHERS = "SELECT count(*) FROM account WHERE is_admin AND NOT is_disabled AND id <> ?"
_ARE_THERE = f"SELECT EXISTS (SELECT 1 FROM account WHERE {IS_THERE})"
_CREATE = """
INSERT INTO account (id, name, name_key, password_hash, is_disabled, created, is_admin)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_SET_PASSWORD = f"UPDATE account SET password_hash = ? WHERE id = ? AND {IS_THERE}"
_REPLACE_HASH = f"{_SET_PASSWORD} AND password_hash = ?"
_SET_DISABLED = f"UPDATE account SET is_disabled = ? WHERE id = ? AND {IS_THERE}"
_SET_ADMIN = f"UPDATE account SET is_admin = ? WHERE id = ? AND {IS_THERE}"
_END_SESSIONS = """
DELETE FROM token WHERE account_id = ? AND (is_session AND of_token IS NULL OR purpose = 'reset')
"""
_WITH_HASH = f"SELECT {columns(TOKEN)} FROM token WHERE account_id = ? AND hash = ?"
_FORGET_TOKEN = "DELETE FROM token WHERE account_id = ? AND id = ?"
_END_GRANTS = "DELETE FROM login_grant WHERE account_id = ? AND fetched IS NULL"
# No name has a colon, so that nobody can ask for this one.
_MARK_DELETED = f"""
UPDATE account SET name = '', name_key = ':' || id, password_hash = NULL, is_disabled = 1,
    is_admin = 0, former_count = 0, {", ".join(f"{name} = 0" for name in COUNTS)}
WHERE id = ?
"""
_END_TOKENS = "DELETE FROM token WHERE account_id = ?"
_END_ALL_GRANTS = "DELETE FROM login_grant WHERE account_id = ?"
_DELETED = "SELECT id FROM account WHERE name_key >= ':' AND name_key < ';'"
_DELETE = "DELETE FROM account WHERE id = ?"  # what else there is of it goes with it


def _delete_some(table: Table, condition: str = "") -> str:
    """Return the statement that deletes some rows of an account."""
    key = columns(("account_id", *table.key))
    return f"""
        DELETE FROM {table.name} WHERE ({key}) IN (
            SELECT {key} FROM {table.name} WHERE account_id = ?{condition} LIMIT ?
        )
    """


_DELETE_SOME = (
    _delete_some(ENTRIES, " AND new_guid IS NOT NULL"),  # before what they lead to
    *(_delete_some(table) for table in TABLES if table not in (ACCOUNTS, TOKENS)),
)
_ROWS_IN_A_STEP, _AT_ONCE = 1_000, 20
"""How many rows of a deleted account go with one commit, and before other tasks may run."""

_STEPS_AT_ONCE = 20
"""How many steps whoever deletes an account waits for; the rest goes later."""
_NEWEST_ENTRY = f"""
SELECT {columns(ENTRY)} FROM entry WHERE account_id = ? AND revision IS NOT NULL
ORDER BY revision DESC LIMIT 1
"""
_SET_RESTORED = f"UPDATE account SET {', '.join(f'{name} = ?' for name in RESTORED)} WHERE id = ?"
_STAMP_ANEW = f"""
UPDATE entry SET {", ".join(f"{name} = ?" for name in STAMPED)} WHERE account_id = ? AND guid = ?
"""
_CLOCKS = {Clock.SUBSCRIPTIONS: "last_stamp", Clock.ACTIONS: "last_action_stamp"}


class SqliteAccounts:
    """The table `account`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def find(self, name_key: str) -> Account | None:
        return self._runner.read(lambda connection: _find(connection, name_key))

    async def count(self, after: AccountId) -> int:
        count: int = await self._runner.scan(
            lambda connection: connection.execute(_COUNT, (after,)).get
        )
        return count

    async def by_id(self, after: AccountId, limit: int) -> list[Account]:
        def read(connection: apsw.Connection) -> list[Account]:
            return [account_of(row) for row in connection.execute(_BY_ID, (after, limit))]

        return await self._runner.scan(read)

    async def people(self, after: str, limit: int, beginning: str = "") -> list[Person]:
        def read(connection: apsw.Connection) -> list[Person]:
            rows = connection.execute(_PEOPLE, (*key_range(after, beginning), after, limit))
            return [Person(account_of(row), last_used) for last_used, *row in rows]

        return await self._runner.scan(read)

    async def taken(self, name_keys: Sequence[str]) -> set[str]:
        return await self._runner.scan(
            lambda connection: {key for key in name_keys if _find(connection, key)}
        )

    async def administrators(self) -> list[Account]:
        return self._runner.read(
            lambda connection: [account_of(row) for row in connection.execute(_ADMINISTRATORS)]
        )

    async def are_there(self) -> bool:
        return self._runner.read(lambda connection: bool(connection.execute(_ARE_THERE).get))

    async def create(self, account: Account, name_key: str) -> None:
        def create(connection: apsw.Connection) -> None:
            _check_is_free(connection, name_key)
            _create(connection, account, name_key)

        await self._runner.write(create)

    async def create_first(self, account: Account, name_key: str) -> None:
        def create(connection: apsw.Connection) -> None:
            if connection.execute(_ARE_THERE).get:
                raise NotAuthorized
            _create(connection, account, name_key)

        await self._runner.write(create)

    async def create_many(self, accounts: Sequence[tuple[Account, str]]) -> list[bool]:
        def create_if_free(connection: apsw.Connection, account: Account, name_key: str) -> bool:
            is_free = _find(connection, name_key) is None
            if is_free:
                _create(connection, account, name_key)
            return is_free

        return await self._runner.write(
            lambda connection: [create_if_free(connection, *account) for account in accounts]
        )

    async def sign_up(
        self,
        account: Account,
        name_key: str,
        invitation: tuple[AccountId, bytes],
        admits: Callable[[Account, Token], bool],
    ) -> None:
        def sign_up(connection: apsw.Connection) -> None:
            inviter = with_id(connection, invitation[0])
            row = connection.execute(_WITH_HASH, invitation).get
            if inviter is None or row is None or not admits(inviter, token_of(row)):
                raise NotAuthorized
            _check_is_free(connection, name_key)
            connection.execute(_FORGET_TOKEN, (inviter.id, token_of(row).id))
            _create(connection, account, name_key)

        await self._runner.write(sign_up)

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        await self._runner.write(
            lambda connection: set_password(connection, account_id, password_hash), account_id
        )

    async def replace_hash(self, account_id: AccountId, stored_hash: str, new_hash: str) -> None:
        await self._runner.write(
            lambda connection: connection.execute(
                _REPLACE_HASH, (new_hash, account_id, stored_hash)
            )
        )

    async def set_disabled(
        self, account_id: AccountId, is_disabled: bool, check: CheckChange = anything_goes
    ) -> None:
        def set_disabled(connection: apsw.Connection) -> None:
            _check(connection, account_id, check)
            connection.execute(_SET_DISABLED, (is_disabled, account_id))
            connection.execute(_END_GRANTS, (account_id,))

        await self._runner.write(set_disabled, account_id)

    async def set_admin(
        self, account_id: AccountId, is_admin: bool, check: CheckChange = anything_goes
    ) -> None:
        def set_admin(connection: apsw.Connection) -> None:
            _check(connection, account_id, check)
            connection.execute(_SET_ADMIN, (is_admin, account_id))

        await self._runner.write(set_admin, account_id)

    async def delete(self, account_id: AccountId, check: CheckChange = anything_goes) -> None:
        """Mark it, so that it is gone for everybody, and delete its rows in small steps.

        An account may have a million rows, and nobody else could write meanwhile. Nearly all have
        so few that nothing is left for later.
        """

        def mark(connection: apsw.Connection) -> None:
            _check(connection, account_id, check)
            for statement in (_MARK_DELETED, _END_TOKENS, _END_ALL_GRANTS):
                connection.execute(statement, (account_id,))

        await self._runner.write(mark, account_id)
        try:
            await self._delete_rows(account_id, _STEPS_AT_ONCE)
        except StoreUnavailable as error:
            _log.warning("rows of a deleted account are left for later", reason=str(error))

    async def finish_deleting(self) -> None:
        for account_id in self._runner.read(deleted):
            await self._delete_rows(account_id)

    async def _delete_rows(self, account_id: AccountId, max_steps: int = sys.maxsize) -> None:
        step = partial(_delete_step, account_id=account_id)
        for _ in range(max_steps):
            if await self._runner.write_in_turns(step, account_id, _ROWS_IN_A_STEP):
                return

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        def advance(connection: apsw.Connection) -> Stamp:
            stamp = to(read_clock(connection, account_id, clock))
            set_clock(connection, account_id, clock, stamp)
            return stamp

        return await self._runner.write(advance, account_id)

    async def note_restored(self, account_id: AccountId, decide: DecideRestored) -> None:
        await self._runner.write(
            lambda connection: note_restored(connection, account_id, decide), account_id
        )

    async def restamp(self, account_id: AccountId, now: Stamp, decide: DecideStamps) -> None:
        def stamp(connection: apsw.Connection) -> None:
            account = with_id(connection, account_id)
            if account is not None:
                after = restamp(connection, account, now, decide)
                connection.execute(_SET_RESTORED, (*restored_row(after), account_id))

        await self._runner.write(stamp, account_id)


def _delete_step(connection: apsw.Connection, account_id: AccountId) -> Yielding[bool]:
    """Delete some rows of an account that is marked, or itself; return whether it is gone."""
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


def note_restored(
    connection: apsw.Connection, account_id: AccountId, decide: DecideRestored
) -> None:
    """Store what a restore makes of an account, if it is there."""
    account = with_id(connection, account_id)
    if account is None:
        return
    row = connection.execute(_NEWEST_ENTRY, (account_id,)).get
    restored = decide(account, ROWS.entry_of(row) if row else None)
    connection.execute(_SET_RESTORED, (*restored_row(restored.account), account_id))
    if restored.newest is not None:
        key = (account_id, to_bytes(restored.newest.guid))
        connection.execute(_STAMP_ANEW, (*stamped_row(restored.newest), *key))


def deleted(connection: apsw.Connection) -> list[AccountId]:
    """Return the accounts that are deleted, and whose rows are not all gone yet."""
    return [AccountId(account_id) for (account_id,) in connection.execute(_DELETED)]


def with_id(connection: apsw.Connection, account_id: AccountId) -> Account | None:
    """Return the account with that id, if there is one."""
    row = connection.execute(_WITH_ID, (account_id,)).get
    return account_of(row) if row else None


def set_password(connection: apsw.Connection, account_id: AccountId, password_hash: str) -> None:
    """Replace a password's hash, and end what ends with it."""
    connection.execute(_SET_PASSWORD, (password_hash, account_id))
    connection.execute(_END_SESSIONS, (account_id,))
    connection.execute(_END_GRANTS, (account_id,))


def is_still_let_in(connection: apsw.Connection, account: Account) -> bool:
    """Say whether the password of `account` is still its password, and it is not disabled."""
    found = with_id(connection, account.id)
    return found is not None and not found.is_disabled and found.salt == account.salt


def read_clock(connection: apsw.Connection, account_id: AccountId, clock: Clock) -> Stamp:
    """Return a clock.

    Raises:
        NotAuthorized: The account is gone.
    """
    statement = f"SELECT {_CLOCKS[clock]} FROM account WHERE id = ? AND {IS_THERE}"
    found: Stamp | None = connection.execute(statement, (account_id,)).get
    if found is None:
        raise NotAuthorized
    return found


def set_clock(
    connection: apsw.Connection, account_id: AccountId, clock: Clock, stamp: Stamp
) -> None:
    """Set a clock."""
    connection.execute(f"UPDATE account SET {_CLOCKS[clock]} = ? WHERE id = ?", (stamp, account_id))


def _check(connection: apsw.Connection, account_id: AccountId, check: CheckChange) -> None:
    """Let `check` look at an account that is to be changed, if there is one."""
    account = with_id(connection, account_id)
    if account is not None:
        check(account, connection.execute(_COUNT_OTHERS, (account_id,)).get)


def _check_is_free(connection: apsw.Connection, name_key: str) -> None:
    taken = _find(connection, name_key)
    if taken is not None:
        raise NameTaken(taken.name)


def _create(connection: apsw.Connection, account: Account, name_key: str) -> None:
    values = (account.id, account.name, name_key, account.password_hash)
    state = (account.is_disabled, account.created, account.is_admin)
    connection.execute(_CREATE, (*values, *state))


def _find(connection: apsw.Connection, name_key: str) -> Account | None:
    row = connection.execute(_FIND, (name_key,)).get
    return account_of(row) if row else None
