"""Accounts and their tokens in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from feedkeep.errors import AccountError, NotAuthorized
from feedkeep.model import Account, AccountId, Found, Guid, Stamp, Token, replace
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.shape import Shape
from feedkeep.store.rows import (
    ACCOUNT,
    ENTRY,
    NEW_TOKEN,
    TOKEN,
    account_of,
    columns,
    new_token_row,
    token_of,
)

_ACCOUNT_COLUMNS = f"a.account_id, {columns(ACCOUNT, 'a')}"
_TOKEN_COLUMNS = columns(TOKEN, "t")

_FIND_NAME = "SELECT account_id FROM feedkeep.account_name WHERE name_key = $1"
_FIND_ACCOUNT = f"SELECT {_ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1"
_ACCOUNTS = f'SELECT {_ACCOUNT_COLUMNS} FROM feedkeep.account a ORDER BY a.name_key COLLATE "C"'
# Names are kept on every machine of a cluster: the service starts also while one of them is away.
_HAS_ANY = "SELECT EXISTS (SELECT 1 FROM feedkeep.account_name)"
_TAKE_NAME = """
INSERT INTO feedkeep.account_name (name_key, account_id) VALUES ($1, $2)
ON CONFLICT (name_key) DO NOTHING RETURNING account_id
"""
_CREATE = """
INSERT INTO feedkeep.account (account_id, name, name_key, password_hash, is_disabled, created)
VALUES ($1, $2, $3, $4, $5, $6)
"""
_SET_PASSWORD = "UPDATE feedkeep.account SET password_hash = $2 WHERE account_id = $1"
_SET_DISABLED = "UPDATE feedkeep.account SET is_disabled = $2 WHERE account_id = $1"
_DELETE = "DELETE FROM feedkeep.account WHERE account_id = $1 RETURNING name_key"
_FREE_NAME = "DELETE FROM feedkeep.account_name WHERE name_key = $1"
_NEXT_TOKEN_ID = """
UPDATE feedkeep.account SET last_token_id = last_token_id + 1
WHERE account_id = $1 RETURNING last_token_id
"""
_ADD_TOKEN = f"""
INSERT INTO feedkeep.token (account_id, {columns(NEW_TOKEN)})
VALUES ($1, {", ".join(f"${number}" for number, _ in enumerate(NEW_TOKEN, 2))})
"""
_IS_TOKEN_ALIVE = """
SELECT EXISTS (
    SELECT 1 FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2 AND t.revoked IS NULL
)
"""
_TOKENS = f"SELECT {_TOKEN_COLUMNS} FROM feedkeep.token t WHERE t.account_id = $1 ORDER BY t.id"
_NEWEST = "s.id = $2 DESC, s.revoked IS NULL DESC, s.expires DESC, s.id DESC"
_FORGET_SESSIONS = f"""
DELETE FROM feedkeep.token t WHERE t.account_id = $1 AND t.id IN (
    SELECT n.id FROM (
        SELECT s.id, row_number() OVER (ORDER BY {_NEWEST}) AS n,
               row_number() OVER (PARTITION BY s.label ORDER BY {_NEWEST}) AS n_alike
        FROM feedkeep.token s WHERE s.account_id = $1 AND s.is_session
    ) n WHERE n.n > $3 OR n.n_alike > $4
)
"""
_EXTEND = """
UPDATE feedkeep.token t SET expires = $3
WHERE t.account_id = $1 AND t.id = $2 AND t.revoked IS NULL
"""
_END_SESSIONS = """
DELETE FROM feedkeep.token t WHERE t.account_id = $1 AND t.is_session AND t.of_token IS NULL
"""
_OPEN_GRANTS = "FROM feedkeep.login_grant WHERE account_id = $1 AND fetched IS NULL"
_HAS_OPEN_GRANTS = f"SELECT EXISTS (SELECT 1 {_OPEN_GRANTS})"
_END_GRANTS = f"DELETE {_OPEN_GRANTS}"
_HOLD = f"{_FIND_ACCOUNT} FOR NO KEY UPDATE"
_HOLD_IF_LET_IN = f"""
{_FIND_ACCOUNT} AND a.password_hash IS NOT DISTINCT FROM $2 AND NOT a.is_disabled
FOR NO KEY UPDATE
"""
_REVOKE = """
UPDATE feedkeep.token t SET revoked = coalesce(t.revoked, $3)
WHERE t.account_id = $1 AND (t.id = $2 OR t.of_token = $2)
"""
_TOKEN = f"SELECT {_TOKEN_COLUMNS} FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2"


class Tokens:
    """The look-up of many requests' tokens at once, in the shape that the database needs."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._find = f"""
            SELECT w.n, {_ACCOUNT_COLUMNS}, {_TOKEN_COLUMNS},
                   {columns(ENTRY, "e")}, {columns(ENTRY, "s")}
            FROM {shape.wanted("WITH ORDINALITY", hash="bytea", guid="uuid")}
            JOIN feedkeep.token t ON t.account_id = {shape.account} AND t.hash = w.hash
            JOIN feedkeep.account a ON a.account_id = {shape.account}
            LEFT JOIN feedkeep.entry e ON e.account_id = {shape.account} AND e.guid = w.guid
            LEFT JOIN feedkeep.entry s ON s.account_id = {shape.account} AND s.guid = e.new_guid
        """

    async def find(
        self, connections: Connections, wanted: Sequence[tuple[AccountId, bytes, Guid | None]]
    ) -> Sequence[Found | None]:
        """Return a token with its account, and an entry, for each account, hash and guid."""
        account_ids, *others = (list(column) for column in zip(*wanted, strict=True))
        rows = await connections.fetch(self._find, self._shape.accounts(account_ids), *others)
        found: list[Found | None] = [None] * len(wanted)
        for row in rows:
            found[row[0] - 1] = ROWS.found_of(row[1:])
        return found


async def find_account(connections: Connections, name_key: str) -> Account | None:
    """Return the account whose name has that key."""
    names = await connections.fetch(_FIND_NAME, name_key)
    rows = await connections.fetch(_FIND_ACCOUNT, names[0][0]) if names else []
    return account_of(rows[0]) if rows else None


async def accounts(connections: Connections) -> list[Account]:
    """Return all accounts by name."""
    return [account_of(row) for row in await connections.fetch(_ACCOUNTS)]


async def has_any(connections: Connections) -> bool:
    """Say whether there is any account."""
    return bool((await connections.fetch(_HAS_ANY))[0][0])


async def tokens(connections: Connections, account_id: AccountId) -> list[Token]:
    """Return all tokens of an account by number."""
    return [token_of(row) for row in await connections.fetch(_TOKENS, account_id)]


async def create(connection: asyncpg.Connection, account: Account, name_key: str) -> None:
    """Add an account."""
    if await connection.fetchval(_TAKE_NAME, name_key, account.id) is None:
        holder = await connection.fetchval(_FIND_NAME, name_key)
        taken = await connection.fetchrow(_FIND_ACCOUNT, holder)
        raise AccountError(f"There is an account {taken[1]} already.")
    values = (account.name, name_key, account.password_hash, account.is_disabled, account.created)
    await connection.execute(_CREATE, account.id, *values)


async def set_password(
    connection: asyncpg.Connection, account_id: AccountId, password_hash: str
) -> None:
    """Replace the password's hash; what was begun or granted with the old one ends with it."""
    await connection.execute(_SET_PASSWORD, account_id, password_hash)
    await connection.execute(_END_SESSIONS, account_id)
    await _end_grants(connection, account_id)


async def set_disabled(
    connection: asyncpg.Connection, account_id: AccountId, is_disabled: bool
) -> None:
    """Disable or enable an account; logins that it has granted and no app has fetched, end."""
    await connection.execute(_SET_DISABLED, account_id, is_disabled)
    await _end_grants(connection, account_id)


async def delete(connection: asyncpg.Connection, account_id: AccountId) -> None:
    """Remove an account; its rows in other tables go with it."""
    name_key = await connection.fetchval(_DELETE, account_id)
    if name_key is not None:
        await connection.execute(_FREE_NAME, name_key)


async def hold(connection: asyncpg.Connection, account_id: AccountId) -> Account | None:
    """Return an account that nobody else changes until the end of the transaction."""
    row = await connection.fetchrow(_HOLD, account_id)
    return account_of(row) if row else None


async def is_still_let_in(connection: asyncpg.Connection, account: Account) -> bool:
    """Say whether who gave the password of `account` would be let in now; hold the account."""
    found = await connection.fetchrow(_HOLD_IF_LET_IN, account.id, account.password_hash)
    return found is not None


async def add_token(connection: asyncpg.Connection, account_id: AccountId, token: Token) -> Token:
    """Remember a token under the account's next number."""
    token_id = await connection.fetchval(_NEXT_TOKEN_ID, account_id)
    if token_id is None:
        raise AccountError("The account is gone.")
    added = replace(token, id=token_id)
    await connection.execute(_ADD_TOKEN, account_id, *new_token_row(added))
    return added


async def add_session(
    connection: asyncpg.Connection, account: Account, token: Token, most: int, most_alike: int
) -> Token:
    """Remember a session; forget others but those that end last, and of those with one label.

    The account is held first, so that neither password nor token can end meanwhile.
    """
    if token.of_token is None:
        is_right = await is_still_let_in(connection, account)
    else:
        await hold(connection, account.id)
        is_right = await connection.fetchval(_IS_TOKEN_ALIVE, account.id, token.of_token)
    if not is_right:
        raise NotAuthorized
    added = await add_token(connection, account.id, token)
    await connection.execute(_FORGET_SESSIONS, account.id, added.id, most, most_alike)
    return added


async def extend_token(
    connection: asyncpg.Connection, account_id: AccountId, token_id: int, expires: Stamp
) -> None:
    """Let a token that is not revoked end at another time."""
    await connection.execute(_EXTEND, account_id, token_id, expires)


async def revoke_token(
    connection: asyncpg.Connection, account_id: AccountId, token_id: int, now: Stamp
) -> Token | None:
    """Let a token end now, unless it ended before, and all sessions that belong to it."""
    await hold(connection, account_id)  # so that no session of it begins meanwhile
    await connection.execute(_REVOKE, account_id, token_id, now)
    row = await connection.fetchrow(_TOKEN, account_id, token_id)
    return token_of(row) if row else None


async def _end_grants(connection: asyncpg.Connection, account_id: AccountId) -> None:
    """End what was granted and not fetched; the account's row is held by now.

    There hardly ever is any, and in a cluster it is written on every machine: one that is away must
    not keep anybody from being locked out.
    """
    if await connection.fetchval(_HAS_OPEN_GRANTS, account_id):
        await connection.execute(_END_GRANTS, account_id)
