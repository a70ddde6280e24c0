"""Accounts and their tokens in SQLite."""

from __future__ import annotations

import apsw

from feedkeep.errors import AccountError, NotAuthorized
from feedkeep.model import Account, AccountId, Found, Guid, Stamp, Token, replace
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
from feedkeep.store.sqlite.rows import ROWS, to_bytes

_ACCOUNT_COLUMNS = f"a.id, {columns(ACCOUNT, 'a')}"
_TOKEN_COLUMNS = columns(TOKEN, "t")

_FIND_TOKEN = f"""
SELECT {_ACCOUNT_COLUMNS}, {_TOKEN_COLUMNS}, {columns(ENTRY, "e")}, {columns(ENTRY, "s")}
FROM token t JOIN account a ON a.id = t.account_id
LEFT JOIN entry e ON e.account_id = t.account_id AND e.guid = ?
LEFT JOIN entry s ON s.account_id = t.account_id AND s.guid = e.new_guid
WHERE t.account_id = ? AND t.hash = ?
"""
_FIND_ACCOUNT = f"SELECT {_ACCOUNT_COLUMNS} FROM account a WHERE a.name_key = ?"
_ACCOUNT = f"SELECT {_ACCOUNT_COLUMNS} FROM account a WHERE a.id = ?"
_ACCOUNTS = f"SELECT {_ACCOUNT_COLUMNS} FROM account a ORDER BY a.name_key"
_HAS_ANY = "SELECT EXISTS (SELECT 1 FROM account)"
_CREATE = """
INSERT INTO account (id, name, name_key, password_hash, is_disabled, created)
VALUES (?, ?, ?, ?, ?, ?)
"""
_NEXT_TOKEN_ID = """
UPDATE account SET last_token_id = last_token_id + 1 WHERE id = ? RETURNING last_token_id
"""
_ADD_TOKEN = f"""
INSERT INTO token (account_id, {columns(NEW_TOKEN)})
VALUES ({", ".join("?" * (len(NEW_TOKEN) + 1))})
"""
_IS_TOKEN_ALIVE = """
SELECT EXISTS (SELECT 1 FROM token WHERE account_id = ? AND id = ? AND revoked IS NULL)
"""
_IS_LET_IN = """
SELECT EXISTS (SELECT 1 FROM account WHERE id = ? AND password_hash IS ? AND NOT is_disabled)
"""
_TOKENS = f"SELECT {_TOKEN_COLUMNS} FROM token t WHERE t.account_id = ? ORDER BY t.id"
_NEWEST = "id = ?2 DESC, revoked IS NULL DESC, expires DESC, id DESC"
_FORGET_SESSIONS = f"""
DELETE FROM token WHERE account_id = ?1 AND id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (ORDER BY {_NEWEST}) AS n,
               row_number() OVER (PARTITION BY label ORDER BY {_NEWEST}) AS n_alike
        FROM token WHERE account_id = ?1 AND is_session
    ) WHERE n > ?3 OR n_alike > ?4
)
"""
_EXTEND = """
UPDATE token SET expires = ? WHERE account_id = ? AND id = ? AND revoked IS NULL
"""
_END_SESSIONS = "DELETE FROM token WHERE account_id = ? AND is_session AND of_token IS NULL"
_END_GRANTS = "DELETE FROM login_grant WHERE account_id = ? AND fetched IS NULL"
_REVOKE = """
UPDATE token SET revoked = ifnull(revoked, ?1) WHERE account_id = ?2 AND (id = ?3 OR of_token = ?3)
"""
_TOKEN = f"SELECT {_TOKEN_COLUMNS} FROM token t WHERE t.account_id = ? AND t.id = ?"


def find_token(
    connection: apsw.Connection, account_id: AccountId, token_hash: bytes, guid: Guid | None
) -> Found | None:
    """Return a token with its account, and the entry of `guid` if there is one."""
    wanted = (guid and to_bytes(guid), account_id, token_hash)
    row = connection.execute(_FIND_TOKEN, wanted).get
    return ROWS.found_of(row) if row else None


def find_account(connection: apsw.Connection, name_key: str) -> Account | None:
    """Return the account whose name has that key."""
    row = connection.execute(_FIND_ACCOUNT, (name_key,)).get
    return account_of(row) if row else None


def account(connection: apsw.Connection, account_id: AccountId) -> Account | None:
    """Return the account of that id."""
    row = connection.execute(_ACCOUNT, (account_id,)).get
    return account_of(row) if row else None


def is_still_let_in(connection: apsw.Connection, account: Account) -> bool:
    """Say whether who gave the password of `account` would be let in now."""
    return bool(connection.execute(_IS_LET_IN, (account.id, account.password_hash)).get)


def accounts(connection: apsw.Connection) -> list[Account]:
    """Return all accounts by name."""
    return [account_of(row) for row in connection.execute(_ACCOUNTS)]


def has_any(connection: apsw.Connection) -> bool:
    """Say whether there is any account."""
    return bool(connection.execute(_HAS_ANY).get)


def create(connection: apsw.Connection, account: Account, name_key: str) -> None:
    """Add an account."""
    taken = find_account(connection, name_key)
    if taken is not None:
        raise AccountError(f"There is an account {taken.name} already.")
    values = (account.id, account.name, name_key, account.password_hash, account.is_disabled)
    connection.execute(_CREATE, (*values, account.created))


def set_password(connection: apsw.Connection, account_id: AccountId, password_hash: str) -> None:
    """Replace the password's hash; what was begun or granted with the old one ends with it."""
    connection.execute(
        "UPDATE account SET password_hash = ? WHERE id = ?", (password_hash, account_id)
    )
    connection.execute(_END_SESSIONS, (account_id,))
    connection.execute(_END_GRANTS, (account_id,))


def set_disabled(connection: apsw.Connection, account_id: AccountId, is_disabled: bool) -> None:
    """Disable or enable an account; logins that it has granted and no app has fetched, end."""
    connection.execute("UPDATE account SET is_disabled = ? WHERE id = ?", (is_disabled, account_id))
    connection.execute(_END_GRANTS, (account_id,))


def delete(connection: apsw.Connection, account_id: AccountId) -> None:
    """Remove an account; its rows in other tables go with it."""
    connection.execute("DELETE FROM account WHERE id = ?", (account_id,))


def add_token(connection: apsw.Connection, account_id: AccountId, token: Token) -> Token:
    """Remember a token under the account's next number."""
    token_id = connection.execute(_NEXT_TOKEN_ID, (account_id,)).get
    if token_id is None:
        raise AccountError("The account is gone.")
    added = replace(token, id=token_id)
    connection.execute(_ADD_TOKEN, (account_id, *new_token_row(added)))
    return added


def add_session(
    connection: apsw.Connection, account: Account, token: Token, most: int, most_alike: int
) -> Token:
    """Remember a session; forget others but those that end last, and of those with one label."""
    if token.of_token is None:
        is_right = is_still_let_in(connection, account)
    else:
        is_right = connection.execute(_IS_TOKEN_ALIVE, (account.id, token.of_token)).get
    if not is_right:
        raise NotAuthorized
    added = add_token(connection, account.id, token)
    connection.execute(_FORGET_SESSIONS, (account.id, added.id, most, most_alike))
    return added


def extend_token(
    connection: apsw.Connection, account_id: AccountId, token_id: int, expires: Stamp
) -> None:
    """Let a token that is not revoked end at another time."""
    connection.execute(_EXTEND, (expires, account_id, token_id))


def tokens(connection: apsw.Connection, account_id: AccountId) -> list[Token]:
    """Return all tokens of an account by number."""
    return [token_of(row) for row in connection.execute(_TOKENS, (account_id,))]


def revoke_token(
    connection: apsw.Connection, account_id: AccountId, token_id: int, now: Stamp
) -> Token | None:
    """Let a token end now, unless it ended before, and all sessions that belong to it."""
    connection.execute(_REVOKE, (now, account_id, token_id))
    row = connection.execute(_TOKEN, (account_id, token_id)).get
    return token_of(row) if row else None
