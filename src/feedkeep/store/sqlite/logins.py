"""Logins of Nextcloud that were granted, in SQLite."""

from __future__ import annotations

import apsw

from feedkeep.model import Account, Grant, Stamp, Token
from feedkeep.model.errors import NotAuthorized
from feedkeep.store.sqlite.accounts import is_still_let_in, with_id
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.sqlite.tokens import add_token

_SAVE = """
INSERT INTO login_grant (login, account_id, label, created) VALUES (?, ?, ?, ?)
ON CONFLICT (login) DO NOTHING RETURNING true
"""
_FIND = """
SELECT login, account_id, label, created FROM login_grant WHERE login = ? AND fetched IS NULL
"""
_FETCH = """
UPDATE login_grant SET fetched = ? WHERE login = ? AND account_id = ? AND fetched IS NULL
RETURNING true
"""
_FORGET = "DELETE FROM login_grant WHERE created < ?"


class SqliteLogins:
    """The table `login_grant`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def save(self, account: Account, grant: Grant, forgotten_before: Stamp) -> bool:
        def save(connection: apsw.Connection) -> bool:
            if not is_still_let_in(connection, account):
                raise NotAuthorized
            connection.execute(_FORGET, (forgotten_before,))
            values = (grant.login, account.id, grant.label, grant.created)
            return bool(connection.execute(_SAVE, values).get)

        return await self._runner.write(save, account.id)

    async def find(self, login: bytes) -> Grant | None:
        row = self._runner.read(lambda connection: connection.execute(_FIND, (login,)).get)
        return Grant(*row) if row else None

    async def fetch(self, grant: Grant, token: Token, now: Stamp) -> Account | None:
        def fetch(connection: apsw.Connection) -> Account | None:
            if not connection.execute(_FETCH, (now, grant.login, grant.account_id)).get:
                return None
            add_token(connection, grant.account_id, token)
            return with_id(connection, grant.account_id)

        return await self._runner.write(fetch, grant.account_id)
