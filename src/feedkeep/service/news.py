"""The private feed of an account's news: its address, and what its owner has dismissed."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from feedkeep.model import Account, AccountId, Stamp
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules.credentials import NEWS_PREFIX, read_link, token_hash
from feedkeep.security.tokens import new_token
from feedkeep.service.preferences import AccountPreferences
from feedkeep.store.base import Store


class News:
    """Gives an account an address for its news, and knows whose address one is.

    Only the hash of an address is stored, beside the preferences. The address opens the news, and
    nothing else.
    """

    def __init__(self, store: Store, preferences: AccountPreferences) -> None:
        self._store = store
        self._preferences = preferences

    async def new_address(self, account_id: AccountId) -> str:
        """Return the secret of a new address; the one that was made before stops working.

        Raises:
            NotAuthorized: The account is gone.
        """
        text = new_token(account_id, NEWS_PREFIX)
        await self._preferences.set_news_address(account_id, token_hash(text))
        return text

    async def owner_of(self, text: str) -> Account:
        """Return the account whose news a secret opens.

        Raises:
            NotAuthorized: It is none, was renewed, or the account is gone or disabled.
        """
        link = read_link(text, NEWS_PREFIX)
        if link is None:
            raise NotAuthorized
        account_id, address_hash = link
        known = (await self._preferences.of(account_id)).news_address
        found = await self._store.accounts.by_id(AccountId(account_id - 1), 1)
        is_right = hmac.compare_digest(known, address_hash.hex())
        if not is_right or not found or found[0].id != account_id or found[0].is_disabled:
            raise NotAuthorized
        return found[0]

    async def dismiss(self, account_id: AccountId, until: Stamp, apps: Sequence[str]) -> None:
        """Keep that the owner has seen the news up to a stamp, and these apps, by their keys.

        Raises:
            NotAuthorized: The account is gone.
        """
        await self._preferences.dismiss_news(account_id, until, apps)
