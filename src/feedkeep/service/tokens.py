"""Tokens and sessions of an account, as its owner sees and ends them."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep import wall_clock
from feedkeep.errors import AccountError
from feedkeep.model import Token
from feedkeep.rules import credentials
from feedkeep.rules.clock import later
from feedkeep.security.tokens import new_token
from feedkeep.service.accounts import Accounts
from feedkeep.store.base import Store

_MICROSECONDS_PER_DAY = 86_400_000_000


class Tokens:
    """The tokens and sessions of all accounts."""

    def __init__(self, store: Store, accounts: Accounts) -> None:
        self._store = store
        self._accounts = accounts

    async def create(self, name: str, label: str, expires_days: int | None) -> tuple[str, Token]:
        """Make a token; return its text, which is kept nowhere, and what is kept of it."""
        account = await self._accounts.named(name)
        text, now = new_token(account.id), wall_clock.now()
        expires = None if expires_days is None else later(now, expires_days * _MICROSECONDS_PER_DAY)
        token = Token(0, credentials.token_hash(text), label, now, expires)
        return text, await self._store.add_token(account.id, token)

    async def of(self, name: str) -> Sequence[Token]:
        """Return all tokens of an account, ended ones too."""
        return [token for token in await self._kept_tokens(name) if not token.is_session]

    async def sessions_of(self, name: str) -> Sequence[Token]:
        """Return all sessions of an account that are kept, ended ones too."""
        return [token for token in await self._kept_tokens(name) if token.is_session]

    async def revoke(self, name: str, token_id: int) -> None:
        """Let a token end now.

        Raises:
            AccountError: There is no such account or token.
        """
        await self._revoke(name, token_id, await self.of(name), "token")

    async def revoke_session(self, name: str, session_id: int) -> None:
        """Let a session end now; raises as `revoke` does."""
        await self._revoke(name, session_id, await self.sessions_of(name), "session")

    async def _kept_tokens(self, name: str) -> Sequence[Token]:
        account = await self._accounts.named(name)
        return await self._store.tokens(account.id)

    async def _revoke(self, name: str, number: int, kept: Sequence[Token], kind: str) -> None:
        account = await self._accounts.named(name)
        if number not in {item.id for item in kept}:
            raise AccountError(
                f"{account.name} has no {kind} {number};"
                f" `feedkeep {kind} list {account.name}` shows all."
            )
        await self._store.revoke_token(account.id, number, wall_clock.now())
