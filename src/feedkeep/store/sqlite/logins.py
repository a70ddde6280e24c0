"""Logins of Nextcloud that were granted, in SQLite."""

from __future__ import annotations

import apsw

from feedkeep.errors import NotAuthorized
from feedkeep.model import Account, Grant, Stamp, Token
from feedkeep.store.sqlite import accounts

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


def save_grant(
    connection: apsw.Connection, account: Account, grant: Grant, forgotten_before: Stamp
) -> bool:
    """Remember a grant, unless its login was granted before; forget old ones."""
    if not accounts.is_still_let_in(connection, account):
        raise NotAuthorized
    connection.execute(_FORGET, (forgotten_before,))
    values = (grant.login, account.id, grant.label, grant.created)
    return bool(connection.execute(_SAVE, values).get)


def find_grant(connection: apsw.Connection, login: bytes) -> Grant | None:
    """Return the grant of a login, unless it was fetched."""
    row = connection.execute(_FIND, (login,)).get
    return Grant(*row) if row else None


def fetch_grant(
    connection: apsw.Connection, grant: Grant, token: Token, now: Stamp
) -> Account | None:
    """Remember the token that an app gets for a grant, once; return whose it is."""
    if not connection.execute(_FETCH, (now, grant.login, grant.account_id)).get:
        return None
    accounts.add_token(connection, grant.account_id, token)
    return accounts.account(connection, grant.account_id)
