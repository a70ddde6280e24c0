"""Stored records of a podcast app: its device, and the URLs that it has for moved feeds."""

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

    An account has a limited number of documents of a kind. For further apps nothing is stored, but
    their uploads are accepted.

    Attributes:
        document: Name of the document with the app's URLs for moved feeds.
    """

    def __init__(self, app: App) -> None:
        self._device = app.device
        self.document = DocumentName(DocumentKind.APP_URLS, app.key)
        self.names = [self.document]
        if app.device:
            self.names.append(DocumentName(DocumentKind.DEVICE, app.device))

    def known(self, documents: Mapping[DocumentName, KnownDocument]) -> AppUrls:
        """Return the app's URLs for moved feeds."""
        document = documents[self.document]
        known = read_app_urls(document.body)
        if known == NO_RECORD and not devices.is_within_limits(document, ""):
            return UNKNOWN  # otherwise the app's removals would be in doubt forever
        return known

    def noted(
        self, documents: Mapping[DocumentName, KnownDocument], after: AppUrls, now: Stamp
    ) -> list[Document]:
        """Return the document to save, if any, when the app has `after`.

        `now` is the account's clock: before the first record, the app's URLs are unknown.
        """
        own = documents[self.document]
        stored = read_app_urls(own.body)
        if own.body is not None and after == stored:
            return []
        began = now if after.began == NO_RECORD.began else after.began
        body = as_json(replace(after, began=began))
        if not devices.is_within_limits(own, body):
            if own.body is None:
                return []
            body = as_json(app_urls.in_doubt(stored, after))
        is_news = body != own.body
        return [Document(self.document.kind, self.document.name, body)] if is_news else []

    def learned(
        self, documents: Mapping[DocumentName, KnownDocument], after: AppUrls, now: Stamp
    ) -> list[Document]:
        """Return the documents to save when the app has `after` after an upload."""
        before = self.known(documents)
        learned = self.noted(documents, app_urls.merged(before, before, after), now)
        if self._device:
            name = self.names[-1]
            known = documents[name]
            # A new device is named by its id.
            body = as_json(devices.described(self._device, None, "", ""))
            if known.body is None and devices.is_within_limits(known, body):
                learned.append(Document(name.kind, name.name, body))
        return learned


def read_app_urls(body: str | None) -> AppUrls:
    """Decode the document `RememberedApp.document`; `NO_RECORD` if it does not exist."""
    return _APP_URLS.decode(body) if body else NO_RECORD
