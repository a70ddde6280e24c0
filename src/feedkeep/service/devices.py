"""Apps of an account: their devices, their settings, connecting and disconnecting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from feedkeep.model import (
    UNNUMBERED,
    Account,
    AccountId,
    Decision,
    Document,
    DocumentKind,
    DocumentName,
    KnownDocument,
    NewToken,
    Now,
    Purpose,
    Scope,
    Snapshot,
    Token,
    TokenDecision,
    TokenId,
    replace,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import apps, credentials, devices
from feedkeep.rules.apps import AppKind, ConnectedApp
from feedkeep.rules.credentials import as_label
from feedkeep.rules.devices import Device, Favorite
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import is_for_apps
from feedkeep.security.tokens import new_token
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
