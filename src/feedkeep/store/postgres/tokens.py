"""Tokens and sessions in PostgreSQL, and how far their apps know what changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import asyncpg

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
from feedkeep.store.postgres.accounts import (
    ACCOUNT_COLUMNS,
    hold,
    is_still_let_in,
    set_password,
)
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.postgres.shape import as_columns
from feedkeep.store.rows import new_token_row, own_uploads_column, token_of
from feedkeep.store.tables import ENTRY, NEW_TOKEN, TOKEN, columns

MAX_FOUND_IN_A_BATCH = 256

_TOKEN_COLUMNS = columns(TOKEN, "t")

_OF_ACCOUNT = f"SELECT {_TOKEN_COLUMNS} FROM feedkeep.token t WHERE t.account_id = $1 ORDER BY t.id"
_OF_PURPOSE = f"""
SELECT {_TOKEN_COLUMNS} FROM feedkeep.token t
WHERE t.account_id = $1 AND t.purpose = $2 ORDER BY t.id
"""
_WITH_ID = f"SELECT {_TOKEN_COLUMNS} FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2"
_NEXT_ID = """
UPDATE feedkeep.account SET last_token_id = last_token_id + 1
WHERE account_id = $1 RETURNING last_token_id
"""
_ADD = f"""
INSERT INTO feedkeep.token (account_id, {columns(NEW_TOKEN)})
VALUES ($1, {", ".join(f"${number}" for number, _ in enumerate(NEW_TOKEN, 2))})
"""
_IS_ALIVE = """
SELECT EXISTS (
    SELECT 1 FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2 AND t.revoked IS NULL
)
"""
_NEWEST = "s.id = $2 DESC, s.revoked IS NULL DESC, s.expires DESC, s.id DESC"
_FORGET_SESSIONS = f"""
DELETE FROM feedkeep.token t WHERE t.account_id = $1 AND t.id IN (
    SELECT n.id FROM (
        SELECT s.id, row_number() OVER (ORDER BY {_NEWEST}) AS n,
               row_number() OVER (PARTITION BY s.label ORDER BY {_NEWEST}) AS n_alike
        FROM feedkeep.token s WHERE s.account_id = $1 AND s.is_session AND s.purpose = $5
    ) n WHERE n.n > $3 OR n.n_alike > $4
)
"""
_FORGET = "DELETE FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2"
_FORGET_OF_PURPOSE = f"{_FORGET} AND t.purpose = $3"
_EXTEND = """
UPDATE feedkeep.token t SET expires = $3
WHERE t.account_id = $1 AND t.id = $2 AND t.revoked IS NULL
"""
_REVOKE = """
UPDATE feedkeep.token t SET revoked = coalesce(t.revoked, $3)
WHERE t.account_id = $1 AND (t.id = $2 OR t.of_token = $2)
"""
_SAVE_PROGRESS = {
    clock: f"""
    UPDATE feedkeep.token t SET
        told_{clock.value} = $3,
        heard_{clock.value} = greatest(t.heard_{clock.value}, $4),
        own_{clock.value} = $5
    WHERE t.account_id = $1 AND t.id = $2
    """
    for clock in Clock
}


class PostgresTokens:
    """The table `token`; many requests' tokens are found with one statement."""

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner
        same, wanted = runner.shape.same, runner.shape.wanted
        self._find = f"""
            SELECT w.n, {ACCOUNT_COLUMNS}, {_TOKEN_COLUMNS},
                   {columns(ENTRY, "e")}, {columns(ENTRY, "s")}
            FROM {wanted("WITH ORDINALITY", hash="bytea", guid="uuid")}
            JOIN feedkeep.token t ON {same("t")} AND t.hash = w.hash
            JOIN feedkeep.account a ON {same("a")}
            LEFT JOIN feedkeep.entry e ON {same("e")} AND e.guid = w.guid
            LEFT JOIN feedkeep.entry s ON {same("s")} AND s.guid = e.new_guid
        """
        used = wanted(id="bigint")
        self._lock_what_is_free = f"""
            SELECT t.account_id, t.id FROM {used}
            JOIN feedkeep.token t ON {same("t")} AND t.id = w.id
            FOR NO KEY UPDATE OF t SKIP LOCKED
        """
        self._mark = f"""
            UPDATE feedkeep.token t SET last_used = $3 FROM {used}
            WHERE {same("t")} AND t.id = w.id
        """
        self._found = runner.reader(self._find_all, MAX_FOUND_IN_A_BATCH)

    async def find(
        self, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
    ) -> Found | None:
        wanted = (account_id, token_hash, guid)
        return await self._found.submit(wanted, await self._runner.key(account_id))

    async def of(self, account_id: AccountId) -> list[Token]:
        rows = await self._runner.scan(
            lambda connections: connections.fetch(_OF_ACCOUNT, account_id)
        )
        return [token_of(row) for row in rows]

    async def add(self, account_id: AccountId, token: Token) -> Token:
        return await self._runner.write(lambda connection: add_token(connection, account_id, token))

    async def add_session(
        self,
        account: Account,
        token: Token,
        max_sessions: int,
        max_alike: int,
        replaced: TokenId | None = None,
    ) -> Token:
        """The account is locked first, so that neither password nor token can end meanwhile."""

        async def add(connection: asyncpg.Connection) -> Token:
            if token.of_token is None:
                is_right = await is_still_let_in(connection, account)
            else:
                await hold(connection, account.id)
                is_right = await connection.fetchval(_IS_ALIVE, account.id, token.of_token)
            if not is_right:
                raise NotAuthorized
            added = await add_token(connection, account.id, token)
            if replaced is not None:
                await connection.execute(_FORGET, account.id, replaced)
            limits = (max_sessions, max_alike, token.purpose)
            await connection.execute(_FORGET_SESSIONS, account.id, added.id, *limits)
            return added

        return await self._runner.write(add)

    async def change(
        self, account_id: AccountId, purpose: Purpose, decide: DecideTokens
    ) -> TokensChanged:
        async def change(connection: asyncpg.Connection) -> TokensChanged:
            account = await hold(connection, account_id)
            if account is None:
                raise NotAuthorized
            rows = await connection.fetch(_OF_PURPOSE, account_id, purpose)
            decision = decide(account, [token_of(row) for row in rows])
            for token_id in decision.forgotten:
                await connection.execute(_FORGET_OF_PURPOSE, account_id, token_id, purpose)
            if decision.password_hash is not None:
                await set_password(connection, account_id, decision.password_hash)
                account = replace(account, password_hash=decision.password_hash)
            added = [await add_token(connection, account_id, token) for token in decision.added]
            return TokensChanged(account, added)

        return await self._runner.write(change)

    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], day: Stamp) -> None:
        batches: defaultdict[Hashable, list[tuple[AccountId, TokenId]]] = defaultdict(list)
        for one in used:
            batches[await self._runner.key(one[0])].append(one)
        for rows in batches.values():
            await self._runner.write(partial(self._mark_used, rows, day))

    async def _mark_used(
        self,
        used: Sequence[tuple[AccountId, TokenId]],
        day: Stamp,
        connection: asyncpg.Connection,
    ) -> None:
        """It waits for no lock, so that it is never in a circle of transactions that wait."""
        rows = await connection.fetch(self._lock_what_is_free, *as_columns(used))
        if rows:
            free = as_columns([tuple(row) for row in rows])
            await connection.execute(self._mark, *free, day)

    async def extend(self, account_id: AccountId, token_id: TokenId, expires: Stamp) -> None:
        await self._runner.write(
            lambda connection: connection.execute(_EXTEND, account_id, token_id, expires)
        )

    async def revoke(self, account_id: AccountId, token_id: TokenId, now: Stamp) -> Token | None:
        async def revoke(connection: asyncpg.Connection) -> Token | None:
            await hold(connection, account_id)  # so that no session of it begins meanwhile
            await connection.execute(_REVOKE, account_id, token_id, now)
            row = await connection.fetchrow(_WITH_ID, account_id, token_id)
            return token_of(row) if row else None

        return await self._runner.write(revoke)

    async def save_progress(self, account_id: AccountId, changed: TokenProgress) -> None:
        await self._runner.write(lambda connection: save_progress(connection, account_id, changed))

    async def _find_all(
        self, connections: Connections, wanted: Sequence[tuple[AccountId, bytes, Guid | None]]
    ) -> Sequence[Found | None]:
        rows = await connections.fetch(self._find, *as_columns(wanted))
        found: list[Found | None] = [None] * len(wanted)
        for row in rows:
            found[row[0] - 1] = ROWS.found_of(row[1:])
        return found


async def save_progress(
    connection: asyncpg.Connection, account_id: AccountId, changed: TokenProgress
) -> None:
    """Store how far a token's app knows what changed; what it acknowledged never goes back."""
    await connection.execute(_SAVE_PROGRESS[changed.clock], account_id, *progress_row(changed))


def progress_row(changed: TokenProgress) -> tuple[Any, ...]:
    """Return a token's number, and the columns that say how far its app knows what changed."""
    progress = changed.progress
    own_uploads = own_uploads_column(progress.own_uploads)
    return (changed.token_id, progress.last_sent, progress.acknowledged, own_uploads)


async def add_token(connection: asyncpg.Connection, account_id: AccountId, token: Token) -> Token:
    """Save a token with its new id: the account's next number.

    Raises:
        AccountError: The account is gone.
    """
    token_id = await connection.fetchval(_NEXT_ID, account_id)
    if token_id is None:
        raise AccountError("The account is gone.")
    added = replace(token, id=token_id)
    await connection.execute(_ADD, account_id, *new_token_row(added))
    return added
