"""Protocol for storing tokens and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from feedkeep.model import (
    Account,
    AccountId,
    DocumentName,
    Found,
    Guid,
    Purpose,
    Stamp,
    Token,
    TokenId,
    TokenProgress,
    TokensChanged,
)
from feedkeep.store.portable.tokens import DecideTokens


class Tokens(Protocol):
    """The tokens and sessions of all accounts, and the sync progress of their apps."""

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

    async def of(self, account_id: AccountId) -> Sequence[Token]:
        """Return all tokens of an account by number, including sessions and revoked tokens."""

    async def add(self, account_id: AccountId, token: Token) -> Token:
        """Save a token; return it with its id, the account's next number."""

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

    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], minute: Stamp) -> None:
        """Save the minute of the last use of tokens; deleted tokens are skipped.

        Does not wait for locks: tokens that are being changed may be skipped, too.
        """

    async def extend(self, account_id: AccountId, token_id: TokenId, expires: Stamp) -> None:
        """Set the expiry of a token, unless it is revoked."""

    async def revoke(self, account_id: AccountId, token_id: TokenId, now: Stamp) -> Token | None:
        """Revoke a token and every session that belongs to it; no effect if already revoked.

        Returns the token; None if it does not exist.
        """

    async def save_progress(self, account_id: AccountId, changed: TokenProgress) -> None:
        """Store the sync progress of a token's app; the acknowledged stamp never decreases."""
