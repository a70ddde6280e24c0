"""Logins of Nextcloud that were granted, in PostgreSQL."""

from __future__ import annotations

import asyncpg

from feedkeep.errors import NotAuthorized
from feedkeep.model import Account, Grant, Stamp, Token
from feedkeep.store.postgres import accounts
from feedkeep.store.postgres.connections import Connections

_SAVE = """
INSERT INTO feedkeep.login_grant (login, account_id, label, created) VALUES ($1, $2, $3, $4)
ON CONFLICT (login) DO NOTHING RETURNING true
"""
_FIND = """
SELECT login, account_id, label, created FROM feedkeep.login_grant
WHERE login = $1 AND fetched IS NULL
"""
_FETCH = """
UPDATE feedkeep.login_grant SET fetched = $3
WHERE login = $1 AND account_id = $2 AND fetched IS NULL RETURNING true
"""
_FORGET = "DELETE FROM feedkeep.login_grant WHERE created < $1"


async def save_grant(
    connection: asyncpg.Connection, account: Account, grant: Grant, forgotten_before: Stamp
) -> bool:
    """Remember a grant, unless its login was granted before; forget old ones."""
    if not await accounts.is_still_let_in(connection, account):
        raise NotAuthorized
    await connection.execute(_FORGET, forgotten_before)
    values = (grant.login, account.id, grant.label, grant.created)
    return bool(await connection.fetchval(_SAVE, *values))


async def find_grant(connections: Connections, login: bytes) -> Grant | None:
    """Return the grant of a login, unless it was fetched."""
    rows = await connections.fetch(_FIND, login)
    return Grant(*rows[0]) if rows else None


async def fetch_grant(
    connection: asyncpg.Connection, grant: Grant, token: Token, now: Stamp
) -> Account | None:
    """Remember the token that an app gets for a grant, once; return whose it is."""
    account = await accounts.hold(connection, grant.account_id)
    if account is None:
        return None
    if not await connection.fetchval(_FETCH, grant.login, grant.account_id, now):
        return None
    await accounts.add_token(connection, grant.account_id, token)
    return account
