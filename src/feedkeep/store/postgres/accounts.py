"""Accounts and their clocks in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import asyncpg

from feedkeep.model import Account, AccountId, Clock, Person, Stamp, Token
from feedkeep.model.errors import NameTaken, NotAuthorized
from feedkeep.store.base import CheckChange, DecideRestored, DecideStamps, anything_goes
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.postgres.stamping import restamp
from feedkeep.store.rows import account_of, key_range, restored_row, stamped_row, token_of
from feedkeep.store.tables import (
    ACCOUNT,
    ACCOUNTS,
    ENTRIES,
    ENTRY,
    RESTORED,
    STAMPED,
    TABLES,
    TOKEN,
    Table,
    columns,
)

ACCOUNT_COLUMNS = f"a.account_id, {columns(ACCOUNT, 'a')}"

_FIND_NAME = "SELECT account_id FROM feedkeep.account_name WHERE name_key = $1"
_WITH_ID = f"SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1"
_COUNT = "SELECT count(*) FROM feedkeep.account a WHERE a.account_id > $1"
_BY_ID = f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a
WHERE a.account_id > $1 ORDER BY a.account_id LIMIT $2
"""
_NAMES = """
SELECT account_id FROM feedkeep.account_name
WHERE name_key >= $1 AND name_key < $2 AND name_key <> $3 ORDER BY name_key LIMIT $4
"""
_TAKEN = "SELECT name_key FROM feedkeep.account_name WHERE name_key = ANY($1::text[])"
_PEOPLE = f"""
SELECT p.last_used, {ACCOUNT_COLUMNS} FROM feedkeep.account a LEFT JOIN (
    SELECT t.account_id, max(t.last_used) AS last_used FROM feedkeep.token t
    WHERE t.account_id = ANY($1::bigint[]) GROUP BY t.account_id
) p ON p.account_id = a.account_id
WHERE a.account_id = ANY($1::bigint[]) ORDER BY a.name_key COLLATE "C"
"""
_ADMINISTRATORS = f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.is_admin AND NOT a.is_disabled
ORDER BY a.created, a.account_id
"""
_COUNT_OTHERS = """
SELECT count(*) FROM feedkeep.account a
WHERE a.is_admin AND NOT a.is_disabled AND a.account_id <> $1
"""
# What is to hold for all accounts together has no row that could be locked: whoever takes a right
# away from an administrator, or creates the first account, takes this lock, the letters "fkad".
_LOCK_OUT_OTHERS = f"SELECT pg_advisory_xact_lock({0x666B6164})"
# Names are on every machine of a cluster, so the service can start while one of them is away.
_ARE_THERE = "SELECT EXISTS (SELECT 1 FROM feedkeep.account_name)"
_TAKE_NAME = """
INSERT INTO feedkeep.account_name (name_key, account_id) VALUES ($1, $2)
ON CONFLICT (name_key) DO NOTHING RETURNING account_id
"""
_TAKE_NAMES = """
INSERT INTO feedkeep.account_name (name_key, account_id)
SELECT * FROM unnest($1::text[], $2::bigint[])
ON CONFLICT (name_key) DO NOTHING RETURNING account_id
"""
_CREATE = """
INSERT INTO feedkeep.account
    (account_id, name, name_key, password_hash, is_disabled, created, is_admin)
VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_SET_PASSWORD = "UPDATE feedkeep.account SET password_hash = $2 WHERE account_id = $1"
_REPLACE_HASH = f"{_SET_PASSWORD} AND password_hash = $3"
_SET_DISABLED = "UPDATE feedkeep.account SET is_disabled = $2 WHERE account_id = $1"
_SET_ADMIN = "UPDATE feedkeep.account SET is_admin = $2 WHERE account_id = $1"
_DELETE = "DELETE FROM feedkeep.account WHERE account_id = $1 RETURNING name_key"
_ROWS_AT_ONCE = 20_000
"""How many rows of a deleted account go with one statement, which takes 0.1 s: each may take 5."""


def _delete_some(table: Table, condition: str = "") -> str:
    """Return the statement that deletes some rows of an account."""
    key = columns(table.key)
    return f"""
        DELETE FROM feedkeep.{table.name} t WHERE t.account_id = $1 AND ({key}) IN (
            SELECT {key} FROM feedkeep.{table.name} s WHERE s.account_id = $1{condition} LIMIT $2
        )
    """


_FULL = f"DELETE {_ROWS_AT_ONCE}"
_DELETE_SOME = (
    _delete_some(ENTRIES, " AND s.new_guid IS NOT NULL"),  # before what they lead to
    *(_delete_some(table) for table in TABLES if table is not ACCOUNTS),
)
# Each statement checks its own rows. Else the commit would check all: 6 s, and it may take 5.
_CHECK_EACH = "SET CONSTRAINTS ALL IMMEDIATE"
_FREE_NAME = "DELETE FROM feedkeep.account_name WHERE name_key = $1"
_END_SESSIONS = """
DELETE FROM feedkeep.token t
WHERE t.account_id = $1 AND (t.is_session AND t.of_token IS NULL OR t.purpose = 'reset')
"""
_WITH_HASH = f"""
SELECT {columns(TOKEN, "t")} FROM feedkeep.token t WHERE t.account_id = $1 AND t.hash = $2
"""
_FORGET_TOKEN = "DELETE FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2"
_OPEN_GRANTS = "FROM feedkeep.login_grant WHERE account_id = $1 AND fetched IS NULL"
_HAS_OPEN_GRANTS = f"SELECT EXISTS (SELECT 1 {_OPEN_GRANTS})"
_END_GRANTS = f"DELETE {_OPEN_GRANTS}"
_HOLD = f"{_WITH_ID} FOR NO KEY UPDATE"
_NEWEST_ENTRY = f"""
SELECT {columns(ENTRY, "e")} FROM feedkeep.entry e
WHERE e.account_id = $1 AND e.revision IS NOT NULL ORDER BY e.revision DESC LIMIT 1
"""
_SET_RESTORED = f"""
UPDATE feedkeep.account a SET {", ".join(f"{name} = ${n}" for n, name in enumerate(RESTORED, 2))}
WHERE a.account_id = $1
"""
_STAMP_ANEW = f"""
UPDATE feedkeep.entry e SET {", ".join(f"{name} = ${n}" for n, name in enumerate(STAMPED, 3))}
WHERE e.account_id = $1 AND e.guid = $2
"""
_CLOCKS = {Clock.SUBSCRIPTIONS: "last_stamp", Clock.ACTIONS: "last_action_stamp"}


class PostgresAccounts:
    """The tables `account` and `account_name`."""

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner

    async def find(self, name_key: str) -> Account | None:
        async def find(connections: Connections) -> Account | None:
            names = await connections.fetch(_FIND_NAME, name_key)
            rows = await connections.fetch(_WITH_ID, names[0][0]) if names else []
            return account_of(rows[0]) if rows else None

        return await self._runner.read(find)

    async def count(self, after: AccountId) -> int:
        rows = await self._runner.scan(lambda connections: connections.fetch(_COUNT, after))
        return int(rows[0][0])

    async def by_id(self, after: AccountId, limit: int) -> list[Account]:
        rows = await self._runner.scan(lambda connections: connections.fetch(_BY_ID, after, limit))
        return [account_of(row) for row in rows]

    async def people(self, after: str, limit: int, beginning: str = "") -> list[Person]:
        wanted = (*key_range(after, beginning), after, limit)
        names = await self._runner.read(lambda connections: connections.fetch(_NAMES, *wanted))
        account_ids = [account_id for (account_id,) in names]
        rows = await self._runner.scan(lambda connections: connections.fetch(_PEOPLE, account_ids))
        return [Person(account_of(row[1:]), row[0]) for row in rows]

    async def taken(self, name_keys: Sequence[str]) -> set[str]:
        rows = await self._runner.read(
            lambda connections: connections.fetch(_TAKEN, list(name_keys))
        )
        return {name_key for (name_key,) in rows}

    async def administrators(self) -> list[Account]:
        rows = await self._runner.scan(lambda connections: connections.fetch(_ADMINISTRATORS))
        return [account_of(row) for row in rows]

    async def are_there(self) -> bool:
        rows = await self._runner.read(lambda connections: connections.fetch(_ARE_THERE))
        return bool(rows[0][0])

    async def create(self, account: Account, name_key: str) -> None:
        async def create(connection: asyncpg.Connection) -> None:
            await _create(connection, account, name_key)

        await self._runner.write(create)

    async def create_first(self, account: Account, name_key: str) -> None:
        async def create(connection: asyncpg.Connection) -> None:
            await connection.execute(_LOCK_OUT_OTHERS)
            if await connection.fetchval(_ARE_THERE):
                raise NotAuthorized
            await _create(connection, account, name_key)

        await self._runner.write(create)

    async def create_many(self, accounts: Sequence[tuple[Account, str]]) -> list[bool]:
        async def create(connection: asyncpg.Connection) -> list[bool]:
            # All who take names take them in one order, so that no two wait for each other.
            ordered = sorted(accounts, key=lambda named: named[1])
            keys, ids = [key for _, key in ordered], [account.id for account, _ in ordered]
            free = {row[0] for row in await connection.fetch(_TAKE_NAMES, keys, ids)}
            rows = [_row(*named) for named in ordered if named[0].id in free]
            await connection.executemany(_CREATE, rows)
            return [account.id in free for account, _ in accounts]

        return await self._runner.write(create)

    async def sign_up(
        self,
        account: Account,
        name_key: str,
        invitation: tuple[AccountId, bytes],
        admits: Callable[[Account, Token], bool],
    ) -> None:
        async def sign_up(connection: asyncpg.Connection) -> None:
            inviter = await hold(connection, invitation[0])  # so that it is spent only once
            row = await connection.fetchrow(_WITH_HASH, *invitation)
            if inviter is None or row is None or not admits(inviter, token_of(row)):
                raise NotAuthorized
            await connection.execute(_FORGET_TOKEN, inviter.id, token_of(row).id)
            await _create(connection, account, name_key)

        await self._runner.write(sign_up)

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        await self._runner.write(
            lambda connection: set_password(connection, account_id, password_hash)
        )

    async def replace_hash(self, account_id: AccountId, stored_hash: str, new_hash: str) -> None:
        await self._runner.write(
            lambda connection: connection.execute(_REPLACE_HASH, account_id, new_hash, stored_hash)
        )

    async def set_disabled(
        self, account_id: AccountId, is_disabled: bool, check: CheckChange = anything_goes
    ) -> None:
        async def set_disabled(connection: asyncpg.Connection) -> None:
            await _check(connection, account_id, check)
            await connection.execute(_SET_DISABLED, account_id, is_disabled)
            await _end_grants(connection, account_id)

        await self._runner.write(set_disabled)

    async def set_admin(
        self, account_id: AccountId, is_admin: bool, check: CheckChange = anything_goes
    ) -> None:
        async def set_admin(connection: asyncpg.Connection) -> None:
            await _check(connection, account_id, check)
            await connection.execute(_SET_ADMIN, account_id, is_admin)

        await self._runner.write(set_admin)

    async def delete(self, account_id: AccountId, check: CheckChange = anything_goes) -> None:
        async def delete(connection: asyncpg.Connection) -> None:
            await _check(connection, account_id, check)  # whoever writes to it waits from here on
            await connection.execute(_CHECK_EACH)
            for statement in _DELETE_SOME:
                while await connection.execute(statement, account_id, _ROWS_AT_ONCE) == _FULL:
                    pass
            name_key = await connection.fetchval(_DELETE, account_id)
            if name_key is not None:
                await connection.execute(_FREE_NAME, name_key)

        await self._runner.write(delete)

    async def finish_deleting(self) -> None:
        """Do nothing: all went with one transaction, for which nobody else waits."""

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        async def advance(connection: asyncpg.Connection) -> Stamp:
            stamp = to(await hold_clock(connection, account_id, clock))
            await set_clock(connection, account_id, clock, stamp)
            return stamp

        return await self._runner.write(advance)

    async def note_restored(self, account_id: AccountId, decide: DecideRestored) -> None:
        async def note(connection: asyncpg.Connection) -> None:
            account = await hold(connection, account_id)
            if account is None:
                return
            row = await connection.fetchrow(_NEWEST_ENTRY, account_id)
            restored = decide(account, ROWS.entry_of(row) if row else None)
            await connection.execute(_SET_RESTORED, account_id, *restored_row(restored.account))
            if restored.newest is not None:
                key = (account_id, restored.newest.guid)
                await connection.execute(_STAMP_ANEW, *key, *stamped_row(restored.newest))

        await self._runner.write(note)

    async def restamp(self, account_id: AccountId, now: Stamp, decide: DecideStamps) -> None:
        async def stamp(connection: asyncpg.Connection) -> None:
            account = await hold(connection, account_id)
            if account is not None:
                after = await restamp(connection, account, now, decide)
                await connection.execute(_SET_RESTORED, account_id, *restored_row(after))

        await self._runner.write(stamp)


async def hold(connection: asyncpg.Connection, account_id: AccountId) -> Account | None:
    """Lock an account until the end of the transaction; return it, or None if it is gone."""
    row = await connection.fetchrow(_HOLD, account_id)
    return account_of(row) if row else None


async def set_password(
    connection: asyncpg.Connection, account_id: AccountId, password_hash: str
) -> None:
    """Replace a password's hash, and end what ends with it."""
    await connection.execute(_SET_PASSWORD, account_id, password_hash)
    await connection.execute(_END_SESSIONS, account_id)
    await _end_grants(connection, account_id)


async def is_still_let_in(connection: asyncpg.Connection, account: Account) -> bool:
    """Say whether the account still has its password and is not disabled; lock it if so."""
    found = await hold(connection, account.id)
    return found is not None and not found.is_disabled and found.salt == account.salt


async def hold_clock(connection: asyncpg.Connection, account_id: AccountId, clock: Clock) -> Stamp:
    """Return a clock, and lock the account: later statements see all that was committed before.

    Raises:
        NotAuthorized: The account is gone.
    """
    found = await connection.fetchval(
        f"SELECT a.{_CLOCKS[clock]} FROM feedkeep.account a"
        " WHERE a.account_id = $1 FOR NO KEY UPDATE",
        account_id,
    )
    if found is None:
        raise NotAuthorized
    return Stamp(found)


async def set_clock(
    connection: asyncpg.Connection, account_id: AccountId, clock: Clock, stamp: Stamp
) -> None:
    """Set a clock."""
    await connection.execute(
        f"UPDATE feedkeep.account a SET {_CLOCKS[clock]} = $2 WHERE a.account_id = $1",
        account_id,
        stamp,
    )


async def _check(connection: asyncpg.Connection, account_id: AccountId, check: CheckChange) -> None:
    """Let `check` look at an account that is to be changed, if there is one; lock it.

    The other administrators may be on any machine of a cluster. They are counted only if it
    matters: a machine that is away must not keep an account from being disabled.
    """
    account = await hold(connection, account_id)
    if account is None:
        return
    others = 0
    if account.is_admin:
        await connection.execute(_LOCK_OUT_OTHERS)
        others = await connection.fetchval(_COUNT_OTHERS, account_id)
    check(account, others)


async def _create(connection: asyncpg.Connection, account: Account, name_key: str) -> None:
    if not await _create_if_free(connection, account, name_key):
        holder = await connection.fetchval(_FIND_NAME, name_key)
        taken = await connection.fetchrow(_WITH_ID, holder)
        raise NameTaken(taken[1])


async def _create_if_free(connection: asyncpg.Connection, account: Account, name_key: str) -> bool:
    if await connection.fetchval(_TAKE_NAME, name_key, account.id) is None:
        return False
    await connection.execute(_CREATE, *_row(account, name_key))
    return True


def _row(account: Account, name_key: str) -> tuple[Any, ...]:
    """Return the values of a new account, as `_CREATE` takes them."""
    values = (account.id, account.name, name_key, account.password_hash)
    return (*values, account.is_disabled, account.created, account.is_admin)


async def _end_grants(connection: asyncpg.Connection, account_id: AccountId) -> None:
    """End logins that were granted and not fetched; the account's row is locked already.

    They are rare. In a cluster this table is written on every machine. So it is written only if
    there are any: a machine that is away must not keep an account from being disabled.
    """
    if await connection.fetchval(_HAS_OPEN_GRANTS, account_id):
        await connection.execute(_END_GRANTS, account_id)
