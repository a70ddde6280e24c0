"""Tokens and sessions, and the sync progress of their apps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

from feedkeep.model import (
    Account,
    AccountId,
    Clock,
    DocumentName,
    Found,
    Guid,
    Purpose,
    Stamp,
    Token,
    TokenDecision,
    TokenId,
    TokenProgress,
    TokensChanged,
    replace,
)
from feedkeep.model.errors import AccountError, NotAuthorized
from feedkeep.store.driver import Driver, Statements
from feedkeep.store.portable.accounts import is_still_let_in, set_password
from feedkeep.store.rows import new_token_row, progress_row, token_of
from feedkeep.store.sql import sql
from feedkeep.store.tables import NEW_TOKEN, TOKEN, columns

DecideTokens: TypeAlias = Callable[[Account, Sequence[Token]], TokenDecision]
"""Decides about an account's secrets of one purpose, which it is given by number."""

TOKEN_COLUMNS = columns(TOKEN, "t")

_OF_ACCOUNT = sql(
    f"SELECT {TOKEN_COLUMNS} FROM feedkeep.token t WHERE t.account_id = $1 ORDER BY t.id"
)
_OF_PURPOSE = sql(f"""
SELECT {TOKEN_COLUMNS} FROM feedkeep.token t
WHERE t.account_id = $1 AND t.purpose = $2 ORDER BY t.id
""")
_WITH_ID = sql(
    f"SELECT {TOKEN_COLUMNS} FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2"
)
_NEXT_ID = sql("""
UPDATE feedkeep.account AS a SET last_token_id = last_token_id + 1
WHERE a.account_id = $1 RETURNING last_token_id
""")
_ADD = sql(f"""
INSERT INTO feedkeep.token (account_id, {columns(NEW_TOKEN)})
VALUES ($1, {", ".join(f"${number}" for number, _ in enumerate(NEW_TOKEN, 2))})
""")
_IS_ALIVE = sql("""
SELECT EXISTS (
    SELECT 1 FROM feedkeep.token t WHERE t.account_id = $1 AND t.id = $2 AND t.revoked IS NULL
)
""")
_NEWEST = "s.id = $2 DESC, s.revoked IS NULL DESC, s.expires DESC, s.id DESC"
_FORGET_SESSIONS = sql(f"""
DELETE FROM feedkeep.token AS t WHERE t.account_id = $1 AND t.id IN (
    SELECT n.id FROM (
        SELECT s.id, row_number() OVER (ORDER BY {_NEWEST}) AS n,
               row_number() OVER (PARTITION BY s.label ORDER BY {_NEWEST}) AS n_alike
        FROM feedkeep.token s WHERE s.account_id = $1 AND s.is_session AND s.purpose = $5
    ) n WHERE n.n > $3 OR n.n_alike > $4
)
""")
_FORGET = sql("DELETE FROM feedkeep.token AS t WHERE t.account_id = $1 AND t.id = $2")
_FORGET_OF_PURPOSE = sql(f"{_FORGET} AND t.purpose = $3")
_EXTEND = sql("""
UPDATE feedkeep.token AS t SET expires = $3
WHERE t.account_id = $1 AND t.id = $2 AND t.revoked IS NULL
""")
_REVOKE = sql("""
UPDATE feedkeep.token AS t SET revoked = coalesce(t.revoked, $3)
WHERE t.account_id = $1 AND (t.id = $2 OR t.of_token = $2)
""")
_SAVE_PROGRESS = {
    clock: sql(f"""
    UPDATE feedkeep.token AS t SET
        last_sent_{clock.value} = $3,
        acknowledged_{clock.value} = CASE
            WHEN t.acknowledged_{clock.value} > $4 THEN t.acknowledged_{clock.value}
            ELSE coalesce($4, t.acknowledged_{clock.value})
        END,
        own_{clock.value} = $5
    WHERE t.account_id = $1 AND t.id = $2
    """)
    for clock in Clock
}


class Tokens(ABC):
    """The table `token`: tokens and sessions, and the sync progress of their apps."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    @abstractmethod
    async def find(
        self,
        account_id: AccountId,
        token_hash: bytes,
        guid: Guid | None = None,
        document: DocumentName | None = None,
    ) -> Found | None:
        """Return the token with a hash, and its account.

        With `guid`, also the entry of `guid` in that account, as `Entries.view` returns it. With
        `document`, also the body of that document of the account, read at the same moment.
        """

    @abstractmethod
    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], minute: Stamp) -> None:
        """Save the minute of the last use of tokens; deleted tokens are skipped.

        Does not wait for locks: tokens that are being changed may be skipped, too.
        """

    async def of(self, account_id: AccountId) -> list[Token]:
        """Return all tokens of an account by number, including sessions and revoked tokens."""
        return [token_of(row) for row in await self._driver.scan(_OF_ACCOUNT, account_id)]

    async def add(self, account_id: AccountId, token: Token) -> Token:
        """Save a token; return it with its id, the account's next number."""
        added = await self._driver.change_if_there(
            account_id, lambda statements, account: add_token(statements, account, token)
        )
        if added is None:
            raise AccountError("The account no longer exists.")
        return added

    async def add_session(
        self,
        account: Account,
        token: Token,
        max_sessions: int,
        max_alike: int,
        replaced: TokenId | None = None,
    ) -> Token:
        """Add a session as `add` does, and delete the sessions that exceed the limits.

        At most `max_sessions` with the same purpose remain, and at most `max_alike` of them with
        the same label. Sessions are deleted by earliest expiry. The new session always remains;
        `replaced` is always deleted.

        Raises:
            NotAuthorized: The session's token was revoked. Or it has no token, and the account is
                disabled or deleted, or its password differs from `account`'s.
        """

        async def add(statements: Statements, found: Account) -> Token:
            if token.of_token is None:
                is_right = is_still_let_in(found, account)
            else:
                is_right = await statements.fetchval(_IS_ALIVE, account.id, token.of_token)
            if not is_right:
                raise NotAuthorized
            added = await add_token(statements, account, token)
            if replaced is not None:
                await statements.execute(_FORGET, account.id, replaced)
            limits = (max_sessions, max_alike, token.purpose)
            await statements.execute(_FORGET_SESSIONS, account.id, added.id, *limits)
            return added

        return await self._driver.change(account.id, add)

    async def change(
        self, account_id: AccountId, purpose: Purpose, decide: DecideTokens
    ) -> TokensChanged:
        """Load all secrets of one purpose, call `decide`, and save its decision in one commit.

        The secrets and the password cannot change concurrently. `decide` must be pure, and may run
        more than once. A new password ends the same things as `Accounts.set_password`.

        Raises:
            NotAuthorized: The account is deleted.
            FeedkeepError: `decide` raised it; nothing is changed.
        """

        async def change(statements: Statements, account: Account) -> TokensChanged:
            rows = await statements.fetch(_OF_PURPOSE, account_id, purpose)
            decision = decide(account, [token_of(row) for row in rows])
            for token_id in decision.forgotten:
                await statements.execute(_FORGET_OF_PURPOSE, account_id, token_id, purpose)
            if decision.password_hash is not None:
                await set_password(statements, account, decision.password_hash)
                account = replace(account, password_hash=decision.password_hash)
            added = [await add_token(statements, account, token) for token in decision.added]
            return TokensChanged(account, added)

        return await self._driver.change(account_id, change)

    async def extend(self, account_id: AccountId, token_id: TokenId, expires: Stamp) -> None:
        """Set the expiry of a token, unless it is revoked."""
        await self._driver.write(
            lambda statements: statements.execute(_EXTEND, account_id, token_id, expires),
            account_id,
        )

    async def revoke(self, account_id: AccountId, token_id: TokenId, now: Stamp) -> Token | None:
        """Revoke a token and every session that belongs to it; no effect if already revoked.

        Returns the token; None if it does not exist.
        """

        async def revoke(statements: Statements, _: Account) -> Token | None:
            await statements.execute(_REVOKE, account_id, token_id, now)
            row = await statements.fetchrow(_WITH_ID, account_id, token_id)
            return token_of(row) if row else None

        # The account is locked, so that no session of the token starts concurrently.
        return await self._driver.change_if_there(account_id, revoke)

    async def save_progress(self, account_id: AccountId, changed: TokenProgress) -> None:
        """Store the sync progress of a token's app; the acknowledged stamp never decreases."""
        await self._driver.write(
            lambda statements: save_progress(statements, account_id, changed), account_id
        )


async def save_progress(
    statements: Statements, account_id: AccountId, changed: TokenProgress
) -> None:
    """Store the sync progress of a token's app; the acknowledged stamp never decreases."""
    await statements.execute(_SAVE_PROGRESS[changed.clock], account_id, *progress_row(changed))


async def add_token(statements: Statements, account: Account, token: Token) -> Token:
    """Save a token with its id, the account's next number; the account is locked."""
    added = replace(token, id=await statements.fetchval(_NEXT_ID, account.id))
    await statements.execute(_ADD, account.id, *new_token_row(added))
    return added
