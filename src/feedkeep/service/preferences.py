"""How people want to see the pages."""

from __future__ import annotations

import msgspec

from feedkeep.errors import InvalidInput
from feedkeep.model import AccountId, DocumentKind, Preferences
from feedkeep.service.documents import as_json
from feedkeep.store.base import Store

MAX_CHARACTERS = 64

_NAME = ""
_PREFERENCES = msgspec.json.Decoder(Preferences)


class AccountPreferences:
    """The preferences of each account."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, account_id: AccountId) -> Preferences:
        """Return an account's preferences; none are set at first."""
        body = await self._store.documents.body(account_id, DocumentKind.PREFERENCES, _NAME)
        return _PREFERENCES.decode(body) if body else Preferences()

    async def change(self, account_id: AccountId, wanted: Preferences) -> None:
        """Set all preferences of an account; which values make sense is up to the caller.

        Raises:
            InvalidInput: One of them is too long.
            NotAuthorized: The account is gone.
        """
        for text in (wanted.language, wanted.time_zone, wanted.theme):
            if text is not None and len(text) > MAX_CHARACTERS:
                raise InvalidInput(f"A preference has at most {MAX_CHARACTERS} characters.")
        await self._store.documents.change(
            account_id, DocumentKind.PREFERENCES, _NAME, lambda *_: as_json(wanted)
        )
