"""Tokens and sessions in SQLite, and how far their apps know what changed."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from feedkeep.model import (
    Account,
    AccountId,
    Clock,
    Found,
    Guid,
    Purpose,
    Stamp,
    Token,
    TokenId,
    TokenProgress,
    TokensChanged,
    replace,
)
from feedkeep.model.errors import AccountError, NotAuthorized
from feedkeep.store.base import DecideTokens
from feedkeep.store.rows import new_token_row, own_uploads_column, token_of
from feedkeep.store.sqlite.accounts import (
    ACCOUNT_COLUMNS,
    is_still_let_in,
    set_password,
    with_id,
)
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import ENTRY, NEW_TOKEN, TOKEN, columns

_TOKEN_COLUMNS = columns(TOKEN, "t")

# The text of a statement is hashed and compared each time it is run, and each column is made into
# an object: so there is no join here that only a pointer would need.
_FIND = f"""
SELECT {ACCOUNT_COLUMNS}, {_TOKEN_COLUMNS} FROM token t JOIN account a ON a.id = t.account_id
WHERE t.account_id = ? AND t.hash = ?
"""
_FIND_WITH_ENTRY = f"""
SELECT {ACCOUNT_COLUMNS}, {_TOKEN_COLUMNS}, {columns(ENTRY, "e")}
FROM token t JOIN account a ON a.id = t.account_id
LEFT JOIN entry e ON e.account_id = t.account_id AND e.guid = ?
WHERE t.account_id = ? AND t.hash = ?
"""
_NEW_GUID = -len(ENTRY) + ENTRY.index("new_guid")
_ENTRY = f"SELECT {columns(ENTRY)} FROM entry WHERE account_id = ? AND guid = ?"
_OF_ACCOUNT = f"SELECT {_TOKEN_COLUMNS} FROM token t WHERE t.account_id = ? ORDER BY t.id"
_OF_PURPOSE = f"""
SELECT {_TOKEN_COLUMNS} FROM token t WHERE t.account_id = ? AND t.purpose = ? ORDER BY t.id
"""
_WITH_ID = f"SELECT {_TOKEN_COLUMNS} FROM token t WHERE t.account_id = ? AND t.id = ?"
_NEXT_ID = """
UPDATE account SET last_token_id = last_token_id + 1 WHERE id = ? RETURNING last_token_id
"""
_ADD = f"""
INSERT INTO token (account_id, {columns(NEW_TOKEN)})
VALUES ({", ".join("?" * (len(NEW_TOKEN) + 1))})
"""
_IS_ALIVE = """
SELECT EXISTS (SELECT 1 FROM token WHERE account_id = ? AND id = ? AND revoked IS NULL)
"""
_NEWEST = "id = ?2 DESC, revoked IS NULL DESC, expires DESC, id DESC"
_FORGET_SESSIONS = f"""
DELETE FROM token WHERE account_id = ?1 AND id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (ORDER BY {_NEWEST}) AS n,
               row_number() OVER (PARTITION BY label ORDER BY {_NEWEST}) AS n_alike
        FROM token WHERE account_id = ?1 AND is_session AND purpose = ?5
    ) WHERE n > ?3 OR n_alike > ?4
)
"""
_FORGET = "DELETE FROM token WHERE account_id = ? AND id = ?"
_FORGET_OF_PURPOSE = f"{_FORGET} AND purpose = ?"
_MARK_USED = "UPDATE token SET last_used = ? WHERE account_id = ? AND id = ?"
_EXTEND = """
UPDATE token SET expires = ? WHERE account_id = ? AND id = ? AND revoked IS NULL
"""
_REVOKE = """
UPDATE token SET revoked = ifnull(revoked, ?1) WHERE account_id = ?2 AND (id = ?3 OR of_token = ?3)
"""
_SAVE_PROGRESS = {
    clock: f"""
    UPDATE token SET
        told_{clock.value} = ?1,
        heard_{clock.value} = max(ifnull(heard_{clock.value}, ?2), ifnull(?2, heard_{clock.value})),
        own_{clock.value} = ?5
    WHERE account_id = ?3 AND id = ?4
    """
    for clock in Clock
}


class SqliteTokens:
    """The table `token`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def find(
        self, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
    ) -> Found | None:
        def find(connection: apsw.Connection) -> Found | None:
            if guid is None:
                row = connection.execute(_FIND, (account_id, token_hash)).get
            else:
                wanted = (to_bytes(guid), account_id, token_hash)
                row = connection.execute(_FIND_WITH_ENTRY, wanted).get
                if row and row[_NEW_GUID] is not None:  # a pointer: what it leads to belongs to it
                    row += connection.execute(_ENTRY, (account_id, row[_NEW_GUID])).get
            return ROWS.found_of(row) if row else None

        return await self._runner.read_together(find)

    async def of(self, account_id: AccountId) -> list[Token]:
        def read(connection: apsw.Connection) -> list[Token]:
            return [token_of(row) for row in connection.execute(_OF_ACCOUNT, (account_id,))]

        return await self._runner.scan(read)

    async def add(self, account_id: AccountId, token: Token) -> Token:
        return await self._runner.write(
            lambda connection: add_token(connection, account_id, token), account_id
        )

    async def add_session(
        self,
        account: Account,
        token: Token,
        max_sessions: int,
        max_alike: int,
        replaced: TokenId | None = None,
    ) -> Token:
        def add(connection: apsw.Connection) -> Token:
            if token.of_token is None:
                is_right = is_still_let_in(connection, account)
            else:
                is_right = connection.execute(_IS_ALIVE, (account.id, token.of_token)).get
            if not is_right:
                raise NotAuthorized
            added = add_token(connection, account.id, token)
            connection.execute(_FORGET, (account.id, replaced))  # nothing if that is None
            limits = (max_sessions, max_alike, token.purpose)
            connection.execute(_FORGET_SESSIONS, (account.id, added.id, *limits))
            return added

        return await self._runner.write(add, account.id)

    async def change(
        self, account_id: AccountId, purpose: Purpose, decide: DecideTokens
    ) -> TokensChanged:
        def change(connection: apsw.Connection) -> TokensChanged:
            account = with_id(connection, account_id)
            if account is None:
                raise NotAuthorized
            rows = connection.execute(_OF_PURPOSE, (account_id, purpose)).fetchall()
            decision = decide(account, [token_of(row) for row in rows])
            for token_id in decision.forgotten:
                connection.execute(_FORGET_OF_PURPOSE, (account_id, token_id, purpose))
            if decision.password_hash is not None:
                set_password(connection, account_id, decision.password_hash)
                account = replace(account, password_hash=decision.password_hash)
            added = [add_token(connection, account_id, token) for token in decision.added]
            return TokensChanged(account, added)

        return await self._runner.write(change, account_id)

    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], day: Stamp) -> None:
        rows = [(day, *one) for one in used]
        await self._runner.write(lambda connection: connection.executemany(_MARK_USED, rows))

    async def extend(self, account_id: AccountId, token_id: TokenId, expires: Stamp) -> None:
        wanted = (expires, account_id, token_id)
        await self._runner.write(lambda connection: connection.execute(_EXTEND, wanted), account_id)

    async def revoke(self, account_id: AccountId, token_id: TokenId, now: Stamp) -> Token | None:
        def revoke(connection: apsw.Connection) -> Token | None:
            connection.execute(_REVOKE, (now, account_id, token_id))
            row = connection.execute(_WITH_ID, (account_id, token_id)).get
            return token_of(row) if row else None

        return await self._runner.write(revoke, account_id)

    async def save_progress(self, account_id: AccountId, changed: TokenProgress) -> None:
        await self._runner.write(
            lambda connection: save_progress(connection, account_id, changed), account_id
        )


def save_progress(
    connection: apsw.Connection, account_id: AccountId, changed: TokenProgress
) -> None:
    """Store how far a token's app knows what changed; what it acknowledged never goes back."""
    progress = changed.progress
    own_uploads = own_uploads_column(progress.own_uploads)
    known = (progress.last_sent, progress.acknowledged)
    row = (*known, account_id, changed.token_id, own_uploads)
    connection.execute(_SAVE_PROGRESS[changed.clock], row)


def add_token(connection: apsw.Connection, account_id: AccountId, token: Token) -> Token:
    """Save a token with its new id: the account's next number.

    Raises:
        AccountError: The account is gone.
    """
    token_id = connection.execute(_NEXT_ID, (account_id,)).get
    if token_id is None:
        raise AccountError("The account is gone.")
    added = replace(token, id=token_id)
    connection.execute(_ADD, (account_id, *new_token_row(added)))
    return added
