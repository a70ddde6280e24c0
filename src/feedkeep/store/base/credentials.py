"""Storing secrets."""

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
    """The tokens and sessions of all accounts, and how far their apps know what changed."""

    async def find(
        self,
        account_id: AccountId,
        token_hash: bytes,
        guid: Guid | None = None,
        document: DocumentName | None = None,
    ) -> Found | None:
        """Return the token with that hash, and its account, as they are now.

        With `guid`, also its entry in that account, as `Entries.view` does, in the same query.
        With `document`, also the body of that document of the account, at the same moment.
        """

    async def of(self, account_id: AccountId) -> Sequence[Token]:
        """Return all tokens of an account by number, including sessions and revoked ones."""

    async def add(self, account_id: AccountId, token: Token) -> Token:
        """Save a token, and return it with its new id: the account's next number."""

    async def add_session(
        self,
        account: Account,
        token: Token,
        max_sessions: int,
        max_alike: int,
        replaced: TokenId | None = None,
    ) -> Token:
        """Add a session as `add` does, and delete those that end first, down to two limits.

        At most `max_sessions` of its purpose stay, and at most `max_alike` of them with the same
        label. The new session always stays; the session `replaced` is deleted in any case.

        Raises:
            NotAuthorized: The token that it belongs to was revoked. Or it belongs to none, and the
                account now has another password than `account`, is disabled, or is gone.
        """

    async def change(
        self, account_id: AccountId, purpose: Purpose, decide: DecideTokens
    ) -> TokensChanged:
        """Load all secrets of one purpose, let `decide` say what changes, save, commit.

        Nothing else changes them, or the password, meanwhile. `decide` has to be pure, and may run
        more than once. A new password ends all that `Accounts.set_password` says.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """

    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], minute: Stamp) -> None:
        """Save in which minute tokens were used; tokens that are gone are left out.

        It waits for nobody: tokens that somebody else is changing may be left out, too.
        """

    async def extend(self, account_id: AccountId, token_id: TokenId, expires: Stamp) -> None:
        """Set when a token expires, unless it was revoked."""

    async def revoke(self, account_id: AccountId, token_id: TokenId, now: Stamp) -> Token | None:
        """Revoke a token, unless it was revoked before, and every session that belongs to it.

        Returns the token, or None if there is no such token.
        """

    async def save_progress(self, account_id: AccountId, changed: TokenProgress) -> None:
        """Store how far a token's app knows what changed; what it acknowledged never goes back."""
