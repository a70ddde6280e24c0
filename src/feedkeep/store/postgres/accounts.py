"""Accounts in PostgreSQL: access by name, and deletion."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from feedkeep.model import Account, AccountId, Person
from feedkeep.model.errors import NameTaken
from feedkeep.store.driver import Statements
from feedkeep.store.portable.accounts import CREATE, Accounts, CheckChange, anything_goes
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.runner import PostgresDriver, PostgresRunner
from feedkeep.store.rows import account_of, key_range, new_account_row
from feedkeep.store.sql import Sql, sql
from feedkeep.store.tables import ACCOUNT_COLUMNS, ACCOUNTS, ENTRIES, TABLES, Table, columns

_FIND_NAME = sql("SELECT account_id FROM feedkeep.account_name WHERE name_key = $1")
_WITH_ID = sql(f"SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1")
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
_TAKE_NAME = sql("""
INSERT INTO feedkeep.account_name (name_key, account_id) VALUES ($1, $2)
ON CONFLICT (name_key) DO NOTHING RETURNING account_id
""")
_TAKE_NAMES = """
INSERT INTO feedkeep.account_name (name_key, account_id)
SELECT * FROM unnest($1::text[], $2::bigint[])
ON CONFLICT (name_key) DO NOTHING RETURNING account_id
"""
_DELETE = sql("DELETE FROM feedkeep.account WHERE account_id = $1 RETURNING name_key")
_ROWS_AT_ONCE = 20_000
"""Number of a deleted account's rows per statement: 0.1 s of the 5 s that each may take."""


def _delete_some(table: Table, condition: str = "") -> Sql:
    key = columns(table.key)
    return sql(f"""
        DELETE FROM feedkeep.{table.name} t WHERE t.account_id = $1 AND ({key}) IN (
            SELECT {key} FROM feedkeep.{table.name} s WHERE s.account_id = $1{condition} LIMIT $2
        )
    """)


_FULL = f"DELETE {_ROWS_AT_ONCE}"
_DELETE_SOME = (
    _delete_some(ENTRIES, " AND s.new_guid IS NOT NULL"),  # before the entries that they refer to
    *(_delete_some(table) for table in TABLES if table is not ACCOUNTS),
)
# Each statement checks its own rows. The commit would take 6 s for all, and is limited to 5 s.
_CHECK_EACH = sql("SET CONSTRAINTS ALL IMMEDIATE")
_FREE_NAME = sql("DELETE FROM feedkeep.account_name WHERE name_key = $1")


class PostgresAccounts(Accounts):
    """The tables `account` and `account_name`."""

    # Every machine of a cluster has all names, so the service can start while one is down.
    _are_there = sql("SELECT EXISTS (SELECT 1 FROM feedkeep.account_name)")

    def __init__(self, driver: PostgresDriver, runner: PostgresRunner) -> None:
        super().__init__(driver)
        self._runner = runner

    async def find(self, name_key: str) -> Account | None:
        async def find(connections: Connections) -> Account | None:
            names = await connections.fetch(_FIND_NAME, name_key)
            rows = await connections.fetch(_WITH_ID, names[0][0]) if names else []
            return account_of(rows[0]) if rows else None

        return await self._runner.read(find)

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

    async def create_many(self, accounts: Sequence[tuple[Account, str]]) -> list[bool]:
        async def create(connection: asyncpg.Connection) -> list[bool]:
            # All transactions lock names in the same order, to avoid deadlocks.
            ordered = sorted(accounts, key=lambda named: named[1])
            keys, ids = [key for _, key in ordered], [account.id for account, _ in ordered]
            free = {row[0] for row in await connection.fetch(_TAKE_NAMES, keys, ids)}
            rows = [new_account_row(*named) for named in ordered if named[0].id in free]
            await connection.executemany(CREATE, rows)
            return [account.id in free for account, _ in accounts]

        return await self._runner.write(create)

    async def delete(self, account_id: AccountId, check: CheckChange = anything_goes) -> None:
        # Other writers of this account wait for the whole deletion.
        async def delete(connection: Statements, account: Account) -> None:
            await self._check(connection, account, check)
            await connection.execute(_CHECK_EACH)
            for statement in _DELETE_SOME:
                while await connection.execute(statement, account_id, _ROWS_AT_ONCE) == _FULL:
                    pass
            name_key = await connection.fetchval(_DELETE, account_id)
            await connection.execute(_FREE_NAME, name_key)

        await self._driver.change_if_there(account_id, delete)

    async def finish_deleting(self) -> None:
        """No effect: deletion is one transaction, for which no other account waits."""

    async def _create(self, statements: Statements, account: Account, name_key: str) -> None:
        if await statements.fetchval(_TAKE_NAME, name_key, account.id) is None:
            holder = await statements.fetchval(_FIND_NAME, name_key)
            [taken] = await statements.fetch(_WITH_ID, holder)
            raise NameTaken(account_of(taken).name)
        await statements.execute(CREATE, *new_account_row(account, name_key))
