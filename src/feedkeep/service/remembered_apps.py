"""What is stored of a podcast app: its device, and the URLs that it has for feeds that moved."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from feedkeep.model import Admitted, Document, DocumentKind, DocumentName, KnownDocument
from feedkeep.rules import devices, spellings
from feedkeep.rules.spellings import UNKNOWN, Spellings
from feedkeep.service.documents import as_json

_SPELLINGS = msgspec.json.Decoder(Spellings)


class RememberedApp:
    """The documents of one app.

    An account may have a limited number of documents of a kind. Of an app beyond that nothing is
    stored: that is no reason to refuse what it uploads.

    Attributes:
        spellings: The name of the document with the URLs that it has for feeds that moved.
        names: The names of all its documents.
    """

    def __init__(self, admitted: Admitted, device: str) -> None:
        """Take who sent the request, and the device that the request names; "" if it names none."""
        self._device = device
        self.spellings = DocumentName(DocumentKind.SPELLINGS, _name_of(admitted, device))
        self.names = [self.spellings]
        if device:
            self.names.append(DocumentName(DocumentKind.DEVICE, device))

    def known(self, documents: Mapping[DocumentName, KnownDocument]) -> Spellings:
        """Return the URLs that the app has for feeds that moved."""
        return read_spellings(documents[self.spellings].body)

    def noted(
        self, documents: Mapping[DocumentName, KnownDocument], after: Spellings
    ) -> list[Document]:
        """Return the document to save, if any, when `after` is what the app has."""
        if after == self.known(documents) or not _has_room(documents[self.spellings]):
            return []
        return [Document(self.spellings.kind, self.spellings.name, as_json(after))]

    def learned(
        self, documents: Mapping[DocumentName, KnownDocument], after: Spellings
    ) -> list[Document]:
        """Return the documents to save, when `after` is what the app has after an upload."""
        before = self.known(documents)
        learned = self.noted(documents, spellings.merged(before, before, after))
        if self._device:
            name = self.names[-1]
            known = documents[name]
            if known.body is None and _has_room(known):  # a new device, which is called by its id
                body = as_json(devices.described(self._device, None, "", ""))
                learned.append(Document(name.kind, name.name, body))
        return learned


def read_spellings(body: str | None) -> Spellings:
    """Return what a document with spellings says; without one, nothing is known."""
    return _SPELLINGS.decode(body) if body else UNKNOWN


def _name_of(admitted: Admitted, device: str) -> str:
    """Return what identifies an app: its device, or else the token that it has.

    A session does not identify it, since AntennaPod begins one with each sync.
    """
    if device:
        return f"device {device}"
    return f"token {admitted.token.id}" if admitted.token and not admitted.token.is_session else ""


def _has_room(known: KnownDocument) -> bool:
    return known.body is not None or devices.has_room(known.others)
