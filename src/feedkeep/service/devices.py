"""The devices of podcast apps, and settings stored by apps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from feedkeep.model import (
    AccountId,
    Decision,
    Document,
    DocumentKind,
    DocumentName,
    KnownDocument,
    Snapshot,
    replace,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import devices
from feedkeep.rules.devices import Device, Favorite
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import is_for_apps
from feedkeep.service.documents import as_json, short_name
from feedkeep.store.base import Store

MAX_SETTINGS_BYTES = 65_536

_DEVICE = msgspec.json.Decoder(Device)
_FAVORITE = msgspec.json.Decoder(Favorite)
_SETTINGS = msgspec.json.Decoder(dict[str, object])


class Devices:
    """The devices of all accounts, which are only labels: they share their account's list."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def all(self, account_id: AccountId) -> list[Device]:
        """Return all devices, in order of ids."""
        found = await self._store.documents.of(account_id, DocumentKind.DEVICE)
        return [_DEVICE.decode(document.body) for document in found]

    async def describe(
        self, account_id: AccountId, device_id: str, caption: str = "", kind: str = ""
    ) -> None:
        """Add a device, or change its description; empty texts change nothing.

        Raises:
            InvalidInput: The id is invalid, or the account has the maximum number of devices.
        """

        def decide(body: str | None, others: int) -> str:
            known = _DEVICE.decode(body) if body else None
            described = as_json(devices.described(device_id, known, caption, kind))
            devices.check_limits(KnownDocument(body, others), described)
            return described

        devices.check_id(device_id)
        await self._store.documents.change(account_id, DocumentKind.DEVICE, device_id, decide)

    async def settings(self, account_id: AccountId, scope: str) -> str:
        """Return the stored settings of a scope as JSON."""
        return (
            await self._store.documents.body(account_id, DocumentKind.SETTINGS, short_name(scope))
            or "{}"
        )

    async def change_settings(
        self,
        account_id: AccountId,
        scope: str,
        wanted: Mapping[str, object],
        removed: Sequence[str],
        episode: Favorite | None = None,
    ) -> str:
        """Set and remove settings of a scope; return the resulting settings as JSON.

        `episode` is the episode of the scope, if any. Scopes are stored as digests, so favorite
        episodes are recorded separately, in the same commit.

        Raises:
            InvalidInput: The settings would be too large, or in too many scopes.
        """
        settings = DocumentName(DocumentKind.SETTINGS, short_name(scope))
        favorite = DocumentName(DocumentKind.FAVORITE, settings.name)

        def decide(snapshot: Snapshot) -> Decision[str]:
            known = snapshot.documents[settings]
            after = devices.with_settings(_settings_of(known.body), wanted, removed)
            changed = as_json(after)
            if len(changed.encode()) > MAX_SETTINGS_BYTES:
                raise InvalidInput(f"At most {MAX_SETTINGS_BYTES:,} bytes of settings are kept.")
            devices.check_limits(known, changed)
            documents = [] if changed == known.body else [_document(settings, changed)]
            if episode is not None:
                before = snapshot.documents[favorite]
                noted = episode if devices.is_favorite(after) else Favorite("", "")
                if before.body is not None or noted.episode:
                    body = as_json(noted)
                    devices.check_limits(before, body)
                    documents.append(_document(favorite, body))
            return replace(Draft(snapshot).decision(changed), documents=documents)

        names = [settings] if episode is None else [settings, favorite]
        return await self._store.entries.change(account_id, [], decide, names)

    async def favorites(self, account_id: AccountId) -> list[Favorite]:
        """Return the favorite episodes, in order of URLs."""
        found = await self._store.documents.of(account_id, DocumentKind.FAVORITE)
        noted = (_FAVORITE.decode(document.body) for document in found)
        return sorted(
            (one for one in noted if one.episode and is_for_apps(one.podcast)),
            key=lambda it: (it.podcast, it.episode),
        )


def _document(name: DocumentName, body: str) -> Document:
    return Document(name.kind, name.name, body)


def _settings_of(body: str | None) -> dict[str, object]:
    try:
        return _SETTINGS.decode(body) if body else {}
    except RecursionError:  # stored before the depth of JSON was limited; replaced now
        return {}
