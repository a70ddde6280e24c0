"""The private feed of an account's news: its address, and dismissals."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from feedkeep.model import Account, AccountId, Preferences, Stamp, TokenId
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules.credentials import NEWS_PREFIX, read_link, token_hash
from feedkeep.rules.notices import token_key
from feedkeep.security.tokens import new_token
from feedkeep.service.preferences import AccountPreferences
from feedkeep.store.base import Store


class News:
    """Creates and resolves addresses of news feeds.

    Only the hash of an address is stored, in the preferences. The address gives access to nothing
    but the news. A new password ends it, since it is bound to the password's salt.
    """

    def __init__(self, store: Store, preferences: AccountPreferences) -> None:
        self._store = store
        self._preferences = preferences

    async def new_address(self, account: Account) -> str:
        """Return the secret of a new address, which replaces the previous one.

        Raises:
            NotAuthorized: The account is deleted.
        """
        text = new_token(account.id, NEWS_PREFIX)
        await self._preferences.set_news_address(account, token_hash(text))
        return text

    async def has_address(self, account: Account) -> bool:
        return bool(_address_hash(account, await self._preferences.of(account.id)))

    async def end_address(self, account_id: AccountId) -> None:
        """Revoke the address of an account's news, if any.

        Raises:
            NotAuthorized: The account is deleted.
        """
        await self._preferences.end_news_address(account_id)

    async def account_of(self, text: str) -> Account:
        """Return the account whose news a secret opens.

        Raises:
            NotAuthorized: The secret is invalid, replaced or ended, or the account is deleted or
                disabled.
        """
        link = read_link(text, NEWS_PREFIX)
        if link is None:
            raise NotAuthorized
        account_id, address_hash = link
        preferences = await self._preferences.of(account_id)
        account = await self._store.accounts.with_id(account_id)
        if account is None or account.is_disabled:
            raise NotAuthorized
        if not hmac.compare_digest(_address_hash(account, preferences), address_hash.hex()):
            raise NotAuthorized
        return account

    async def dismiss(self, account_id: AccountId, until: Stamp, apps: Sequence[str]) -> None:
        """Record that the owner has seen news up to a timestamp, and apps by their keys.

        Raises:
            NotAuthorized: The account is deleted.
        """
        await self._preferences.dismiss_news(account_id, until, apps)

    async def know_app(self, account_id: AccountId, token_id: TokenId) -> None:
        """Record that the owner created an app's token in a browser; its use is no news then.

        Raises:
            NotAuthorized: The account is deleted.
        """
        await self._preferences.know_app(account_id, token_key(token_id))


def _address_hash(account: Account, preferences: Preferences) -> str:
    return preferences.news_address if preferences.news_salt == account.salt else ""
