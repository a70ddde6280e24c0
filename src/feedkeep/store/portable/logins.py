"""Granted logins of Nextcloud apps."""

from __future__ import annotations

from feedkeep.model import Account, Grant, Stamp, Token
from feedkeep.model.errors import NotAuthorized
from feedkeep.store.driver import Driver, Statements
from feedkeep.store.portable.accounts import is_still_let_in
from feedkeep.store.portable.tokens import add_token
from feedkeep.store.sql import sql

_SAVE = sql("""
INSERT INTO feedkeep.login_grant (login, account_id, label, created) VALUES ($1, $2, $3, $4)
ON CONFLICT (login) DO NOTHING RETURNING true
""")
_FIND = sql("""
SELECT login, account_id, label, created FROM feedkeep.login_grant
WHERE login = $1 AND fetched IS NULL
""")
_FETCH = sql("""
UPDATE feedkeep.login_grant SET fetched = $3
WHERE login = $1 AND account_id = $2 AND fetched IS NULL RETURNING true
""")
_FORGET = sql("DELETE FROM feedkeep.login_grant WHERE created < $1")


class Logins:
    """Logins of Nextcloud apps that users have granted: the table `login_grant`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def save(self, account: Account, grant: Grant, forgotten_before: Stamp) -> bool:
        """Save a grant; return False if the login was granted before, even if it was fetched.

        Deletes all grants made before `forgotten_before`.

        Raises:
            NotAuthorized: The account is disabled or deleted, or its password differs from
                `account`'s.
        """

        async def save(statements: Statements, found: Account) -> bool:
            if not is_still_let_in(found, account):
                raise NotAuthorized
            await statements.execute(_FORGET, forgotten_before)
            values = (grant.login, account.id, grant.label, grant.created)
            return bool(await statements.fetchval(_SAVE, *values))

        return await self._driver.change(account.id, save)

    async def find(self, login: bytes) -> Grant | None:
        """Return the grant of a login, unless it was fetched; writes nothing."""
        rows = await self._driver.read(_FIND, login)
        return Grant(*rows[0]) if rows else None

    async def fetch(self, grant: Grant, token: Token, now: Stamp) -> Account | None:
        """Save the app's token for a grant and mark the grant as fetched, in one commit.

        Returns the account of the grant; None if it was already fetched or deleted.
        """

        async def fetch(statements: Statements, account: Account) -> Account | None:
            if not await statements.fetchval(_FETCH, grant.login, grant.account_id, now):
                return None
            await add_token(statements, account, token)
            return account

        return await self._driver.change_if_there(grant.account_id, fetch)
