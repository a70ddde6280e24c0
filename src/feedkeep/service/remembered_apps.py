"""What is stored of a podcast app: its device, and the URLs that it has for feeds that moved."""

from __future__ import annotations

from collections.abc import Mapping

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
        document: The name of the document with its URLs for feeds that moved.
        names: The names of all its documents.
    """

    def __init__(self, app: App) -> None:
        self._device = app.device
        self.document = DocumentName(DocumentKind.APP_URLS, app.key)
        self.names = [self.document]
        if app.device:
            self.names.append(DocumentName(DocumentKind.DEVICE, app.device))

    def known(self, documents: Mapping[DocumentName, KnownDocument]) -> AppUrls:
        """Return the URLs that the app has for feeds that moved."""
        document = documents[self.document]
        known = read_app_urls(document.body)
        if known == NO_RECORD and not devices.has_room(document, ""):
            return UNKNOWN  # else what it removes would be in doubt for ever
        return known

    def noted(
        self, documents: Mapping[DocumentName, KnownDocument], after: AppUrls, now: Stamp
    ) -> list[Document]:
        """Return the document to save, if any, when `after` is what the app has.

        `now` is the account's clock: if this is the first that is stored of it, what it had before
        is not known.
        """
        own = documents[self.document]
        stored = read_app_urls(own.body)
        if own.body is not None and after == stored:
            return []
        began = now if after.began == NO_RECORD.began else after.began
        body = as_json(replace(after, began=began))
        if not devices.has_room(own, body):
            if own.body is None:
                return []
            body = as_json(app_urls.in_doubt(stored, after))
        is_news = body != own.body
        return [Document(self.document.kind, self.document.name, body)] if is_news else []

    def learned(
        self, documents: Mapping[DocumentName, KnownDocument], after: AppUrls, now: Stamp
    ) -> list[Document]:
        """Return the documents to save, when `after` is what the app has after an upload."""
        before = self.known(documents)
        learned = self.noted(documents, app_urls.merged(before, before, after), now)
        if self._device:
            name = self.names[-1]
            known = documents[name]
            # A new device, which is called by its id.
            body = as_json(devices.described(self._device, None, "", ""))
            if known.body is None and devices.has_room(known, body):
                learned.append(Document(name.kind, name.name, body))
        return learned


def read_app_urls(body: str | None) -> AppUrls:
    """Decode the document `RememberedApp.document`; None if it does not exist."""
    return _APP_URLS.decode(body) if body else NO_RECORD
