"""List, connect and disconnect the apps of an account."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import (
    UNNUMBERED,
    Account,
    AccountId,
    NewToken,
    Now,
    Purpose,
    Scope,
    Token,
    TokenDecision,
    TokenId,
)
from feedkeep.rules import apps, credentials
from feedkeep.rules.apps import AppKind, ConnectedApp
from feedkeep.rules.credentials import as_label
from feedkeep.security.tokens import new_token
from feedkeep.store.base import Store

MAX_SHOWN = 500


class Apps:
    """The connected apps of each account."""

    def __init__(self, store: Store, now: Now) -> None:
        self._store = store
        self._now = now

    async def of(self, account_id: AccountId) -> Sequence[ConnectedApp]:
        """Return the connected apps, most recently used first, at most `MAX_SHOWN`."""
        return apps.connected(await self._known(account_id), self._now())[:MAX_SHOWN]

    async def connect(self, account: Account, label: str, scope: Scope) -> NewToken:
        """Create an app password.

        Raises:
            AccountError: The account has the maximum number of tokens.
            NotAuthorized: The account is deleted.
        """
        text, now = new_token(account.id), self._now()
        made = Token(UNNUMBERED, credentials.token_hash(text), as_label(label), now, scope=scope)

        def decide(_: Account, known: Sequence[Token]) -> TokenDecision:
            return apps.connect(known, made, now)

        changed = await self._store.tokens.change(account.id, Purpose.APPS, decide)
        return NewToken(text, changed.added[0])

    async def disconnect(self, account_id: AccountId, token_id: TokenId) -> None:
        """Revoke an app's token and its sessions; or end the sessions of an app with the password.

        Raises:
            AccountError: The account has no such app.
        """
        now = self._now()
        app = apps.find(apps.connected(await self._known(account_id), now), token_id)
        if app.kind is AppKind.PASSWORD:
            ended = TokenDecision(forgotten=app.ids)
            await self._store.tokens.change(account_id, Purpose.APPS, lambda *_: ended)
        else:
            await self._store.tokens.revoke(account_id, token_id, now)

    async def _known(self, account_id: AccountId) -> list[Token]:
        found = await self._store.tokens.of(account_id)
        return [one for one in found if one.purpose is Purpose.APPS]
