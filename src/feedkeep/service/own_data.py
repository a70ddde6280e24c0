"""Export of everything stored about an account, for its owner."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import msgspec

from feedkeep.model import (
    AccountId,
    Author,
    DocumentKind,
    Entry,
    EntryState,
    Pointer,
    Purpose,
    Scope,
    Stamp,
    Subscription,
    Token,
    Value,
)
from feedkeep.service.devices import Devices
from feedkeep.service.episode_actions import EpisodeActions
from feedkeep.service.list_changes import read_author
from feedkeep.store.base import Store

_ALL_STATES = Stamp(0)


class OwnState(Value, frozen=True):
    """A former state of an entry, with the changes that began and ended it."""

    entry: Entry
    began: Stamp | None
    ended: Stamp | None
    author: Author | None


class OwnSecret(Value, frozen=True):
    """A token, session, link or code, without the secret."""

    label: str
    purpose: Purpose
    is_session: bool
    scope: Scope
    created: Stamp
    expires: Stamp | None
    revoked: Stamp | None
    last_used: Stamp | None


class OwnDocument(Value, frozen=True):
    """A document stored by apps or pages: settings, preferences, or sync progress."""

    kind: DocumentKind
    name: str
    body: msgspec.Raw


class OwnData:
    """Reads an account's data in parts. Only the list and its history are completely in memory."""

    def __init__(self, store: Store, devices: Devices, actions: EpisodeActions) -> None:
        self._store = store
        self._devices = devices
        self._actions = actions

    async def parts(self, account_id: AccountId) -> dict[str, AsyncIterator[object]]:
        """Return all parts by name; each is read when it is iterated, in this order.

        Raises:
            NotAuthorized: The account is deleted.
        """
        whole = await self._store.entries.whole(account_id, _ALL_STATES)
        entries, states = whole.entries.values(), whole.history.states if whole.history else ()
        labels = await self._store.feed_labels.of(account_id)
        return {
            "feeds": _each(entry for entry in entries if isinstance(entry, Subscription)),
            "former_guids": _each(entry for entry in entries if isinstance(entry, Pointer)),
            "titles_and_folders": _each(found.label for found in labels),
            "history": _each(map(_own_state, states)),
            "devices": _each(await self._devices.all(account_id)),
            "episode_actions": self._played(account_id),
            "documents": self._documents(account_id),
            "secrets": self._secrets(account_id),
        }

    async def _played(self, account_id: AccountId) -> AsyncIterator[object]:
        async for page in await self._actions.all(account_id):
            for action in page:
                yield action

    async def _documents(self, account_id: AccountId) -> AsyncIterator[object]:
        for kind in DocumentKind:
            if kind is not DocumentKind.DEVICE:  # devices are a separate part
                for document in await self._store.documents.of(account_id, kind):
                    yield OwnDocument(kind, document.name, msgspec.Raw(document.body.encode()))

    async def _secrets(self, account_id: AccountId) -> AsyncIterator[object]:
        for token in await self._store.tokens.of(account_id):
            yield _own_secret(token)


async def _each(values: Iterable[object]) -> AsyncIterator[object]:
    for value in values:
        yield value


def _own_state(state: EntryState) -> OwnState:
    return OwnState(state.entry, state.began, state.ended, read_author(state.author))


def _own_secret(token: Token) -> OwnSecret:
    return OwnSecret(
        token.label,
        token.purpose,
        token.is_session,
        token.scope,
        token.created,
        token.expires,
        token.revoked,
        token.last_used,
    )
