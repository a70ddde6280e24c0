"""Tokens and sessions of an account, for the commands."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import UNNUMBERED, NewToken, Now, Purpose, Scope, Token, TokenId
from feedkeep.model.errors import AccountError
from feedkeep.rules import credentials
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.security.tokens import new_token
from feedkeep.service.accounts import Accounts
from feedkeep.store.base import Store


class Tokens:
    """The tokens and sessions of all accounts."""

    def __init__(self, store: Store, accounts: Accounts, now: Now) -> None:
        self._store = store
        self._accounts = accounts
        self._now = now

    async def create(
        self, name: str, label: str, expires_days: int | None, scope: Scope = Scope.WRITE
    ) -> NewToken:
        """Create a token that expires after `expires_days`; None means never.

        Raises:
            AccountError: There is no such account.
        """
        account = await self._accounts.named(name)
        text, now = new_token(account.id), self._now()
        expires = None if expires_days is None else shift(now, expires_days * DAY_US)
        label = credentials.as_label(label)
        token = Token(UNNUMBERED, credentials.token_hash(text), label, now, expires, scope=scope)
        return NewToken(text, await self._store.tokens.add(account.id, token))

    async def of(self, name: str) -> Sequence[Token]:
        """Return all tokens of an account, including ended tokens; raises as `create` does."""
        found = await self._stored_tokens(name)
        return [one for one in found if one.purpose is Purpose.APPS and not one.is_session]

    async def sessions_of(self, name: str) -> Sequence[Token]:
        """Return all stored sessions of apps and browsers, including ended sessions.

        Raises as `create` does.
        """
        return [token for token in await self._stored_tokens(name) if token.is_session]

    async def revoke(self, name: str, token_id: TokenId) -> None:
        """Revoke a token, with all its sessions.

        Raises:
            AccountError: There is no such account or token.
        """
        await self._revoke(name, token_id, await self.of(name), "token")

    async def revoke_session(self, name: str, session_id: TokenId) -> None:
        """Revoke a session; raises as `revoke` does."""
        await self._revoke(name, session_id, await self.sessions_of(name), "session")

    async def _stored_tokens(self, name: str) -> Sequence[Token]:
        account = await self._accounts.named(name)
        return await self._store.tokens.of(account.id)

    async def _revoke(self, name: str, number: TokenId, known: Sequence[Token], kind: str) -> None:
        account = await self._accounts.named(name)
        if number not in {item.id for item in known}:
            raise AccountError(
                f"{account.name} has no {kind} {number};"
                f" `feedkeep {kind} list {account.name}` shows all."
            )
        await self._store.tokens.revoke(account.id, number, self._now())
