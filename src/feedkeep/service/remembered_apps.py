"""What is stored of a podcast app: its device, and the URLs that it has for feeds that moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from feedkeep.model import Document, DocumentKind, DocumentName, KnownDocument, Stamp, replace
from feedkeep.rules import app_urls, devices
from feedkeep.rules.app_identity import App
from feedkeep.rules.app_urls import NO_RECORD, UNKNOWN, AppUrls
from feedkeep.service.documents import as_json

_APP_URLS = msgspec.json.Decoder(AppUrls)


class RememberedApp:
    """The documents of one app.

    An account may have a limited number of documents of a kind. Of an app beyond that nothing is
    stored: that is no reason to refuse what it uploads.

    Attributes:
        spellings: The names of the documents that can have the URLs that it has for feeds that
            moved. The second is of all apps that name its device, as it was stored until 0.1: it
            is read until there is the first.
        names: The names of all its documents.
    """

    def __init__(self, app: App) -> None:
        self._device = app.device
        own = DocumentName(DocumentKind.SPELLINGS, app.key)
        self.spellings: Sequence[DocumentName] = (own, replace(own, name=_former_name(app)))
        self.names = [*self.spellings]
        if app.device:
            self.names.append(DocumentName(DocumentKind.DEVICE, app.device))

    def known(self, documents: Mapping[DocumentName, KnownDocument]) -> AppUrls:
        """Return the URLs that the app has for feeds that moved."""
        known = read_app_urls(*(documents[name].body for name in self.spellings))
        if known == NO_RECORD and not _has_room(documents[self.spellings[0]]):
            return UNKNOWN  # else what it removes would be in doubt for ever
        return known

    def noted(
        self, documents: Mapping[DocumentName, KnownDocument], after: AppUrls, now: Stamp
    ) -> list[Document]:
        """Return the document to save, if any, when `after` is what the app has.

        `now` is the account's clock: if this is the first that is stored of it, what it had before
        is not known.
        """
        own = documents[self.spellings[0]]
        is_stored = own.body is not None and after == read_app_urls(own.body)
        if is_stored or not _has_room(own):
            return []
        began = now if after.began == NO_RECORD.began else after.began
        name = self.spellings[0]
        return [Document(name.kind, name.name, as_json(replace(after, began=began)))]

    def learned(
        self, documents: Mapping[DocumentName, KnownDocument], after: AppUrls, now: Stamp
    ) -> list[Document]:
        """Return the documents to save, when `after` is what the app has after an upload."""
        before = self.known(documents)
        learned = self.noted(documents, app_urls.merged(before, before, after), now)
        if self._device:
            name = self.names[-1]
            known = documents[name]
            if known.body is None and _has_room(known):  # a new device, which is called by its id
                body = as_json(devices.described(self._device, None, "", ""))
                learned.append(Document(name.kind, name.name, body))
        return learned


def read_app_urls(*bodies: str | None) -> AppUrls:
    """Return what the first document with spellings says that exists."""
    body = next(filter(None, bodies), None)
    return _APP_URLS.decode(body) if body else NO_RECORD


def _former_name(app: App) -> str:
    if app.device:
        return f"device {app.device}"
    return "" if app.sign_in is None else f"token {app.sign_in}"


def _has_room(known: KnownDocument) -> bool:
    return known.body is not None or devices.has_room(known.others)
