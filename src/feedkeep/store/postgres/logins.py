"""Logins of Nextcloud that were granted, in PostgreSQL."""

from __future__ import annotations

import asyncpg

from feedkeep.model import Account, Grant, Stamp, Token
from feedkeep.model.errors import NotAuthorized
from feedkeep.store.postgres.accounts import hold, is_still_let_in
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.postgres.tokens import add_token

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


class PostgresLogins:
    """The table `login_grant`."""

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner

    async def save(self, account: Account, grant: Grant, forgotten_before: Stamp) -> bool:
        async def save(connection: asyncpg.Connection) -> bool:
            if not await is_still_let_in(connection, account):
                raise NotAuthorized
            await connection.execute(_FORGET, forgotten_before)
            values = (grant.login, account.id, grant.label, grant.created)
            return bool(await connection.fetchval(_SAVE, *values))

        return await self._runner.write(save)

    async def find(self, login: bytes) -> Grant | None:
        rows = await self._runner.read(lambda connections: connections.fetch(_FIND, login))
        return Grant(*rows[0]) if rows else None

    async def fetch(self, grant: Grant, token: Token, now: Stamp) -> Account | None:
        async def fetch(connection: asyncpg.Connection) -> Account | None:
            account = await hold(connection, grant.account_id)
            if account is None:
                return None
            if not await connection.fetchval(_FETCH, grant.login, grant.account_id, now):
                return None
            await add_token(connection, grant.account_id, token)
            return account

        return await self._runner.write(fetch)
