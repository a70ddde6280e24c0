"""Preferences for the pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from feedkeep.model import Account, AccountId, DocumentKind, Preferences, Stamp, replace
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.notices import MAX_KNOWN_APPS
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
        body = await self._store.documents.body(account_id, DocumentKind.PREFERENCES, _NAME)
        return _read(body)

    async def change(self, account_id: AccountId, wanted: Preferences) -> None:
        """Set language, time zone and theme; the caller checks the values.

        Raises:
            InvalidInput: A value is too long.
            NotAuthorized: The account is deleted.
        """
        for text in (wanted.language, wanted.time_zone, wanted.theme):
            if text is not None and len(text) > MAX_CHARACTERS:
                raise InvalidInput(f"A preference has at most {MAX_CHARACTERS} characters.")
        await self._change(
            account_id,
            lambda known: replace(
                known,
                language=wanted.language,
                time_zone=wanted.time_zone,
                theme=wanted.theme,
            ),
        )

    async def note_time_zone(self, account_id: AccountId, zone: str) -> None:
        """Store the browser's time zone unless the account already has one.

        Raises:
            NotAuthorized: The account is deleted.
        """
        if (await self.of(account_id)).time_zone is None:
            await self._change(
                account_id, lambda known: replace(known, time_zone=known.time_zone or zone)
            )

    async def dismiss_mass_unsubscribe(self, account_id: AccountId, stamp: Stamp) -> None:
        """Record that a mass unsubscribe, and all before it, were intended.

        Raises:
            NotAuthorized: The account is deleted.
        """
        await self._change(
            account_id,
            lambda known: replace(
                known, dismissed_mass_unsubscribe=max(known.dismissed_mass_unsubscribe, stamp)
            ),
        )

    async def undismiss_mass_unsubscribes_after(self, account_id: AccountId, stamp: Stamp) -> None:
        """Undo `dismiss_mass_unsubscribe` for later timestamps; raises as it does."""
        if (await self.of(account_id)).dismissed_mass_unsubscribe > stamp:
            await self._change(
                account_id,
                lambda known: replace(
                    known, dismissed_mass_unsubscribe=min(known.dismissed_mass_unsubscribe, stamp)
                ),
            )

    async def dismiss_news(self, account_id: AccountId, stamp: Stamp, apps: Sequence[str]) -> None:
        """Record that news up to `stamp` and `apps` were seen.

        Raises as `dismiss_mass_unsubscribe`.
        """
        await self._change(
            account_id,
            lambda known: replace(
                known, dismissed_news=max(known.dismissed_news, stamp), known_apps=tuple(apps)
            ),
        )

    async def know_app(self, account_id: AccountId, app: str) -> None:
        """Record that the owner knows an app; raises as `dismiss_mass_unsubscribe` does."""
        await self._change(
            account_id,
            lambda known: replace(known, known_apps=(*known.known_apps[1 - MAX_KNOWN_APPS :], app)),
        )

    async def set_news_address(self, account: Account, address_hash: bytes) -> None:
        """Store the hash of the news address; raises as `dismiss_mass_unsubscribe` does."""
        await self._change(
            account.id,
            lambda known: replace(known, news_address=address_hash.hex(), news_salt=account.salt),
        )

    async def end_news_address(self, account_id: AccountId) -> None:
        """Delete the news address; raises as `dismiss_mass_unsubscribe` does."""
        if (await self.of(account_id)).news_address:
            await self._change(
                account_id, lambda known: replace(known, news_address="", news_salt=None)
            )

    async def _change(
        self, account_id: AccountId, changed: Callable[[Preferences], Preferences]
    ) -> None:
        def decide(body: str | None, _: int) -> str:
            return as_json(changed(_read(body)))

        await self._store.documents.change(account_id, DocumentKind.PREFERENCES, _NAME, decide)


def _read(body: str | None) -> Preferences:
    return _PREFERENCES.decode(body) if body else Preferences()
