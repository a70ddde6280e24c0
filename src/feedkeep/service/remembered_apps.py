"""What is remembered of a podcast app: its device, and by which URLs it has feeds that moved."""

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

    An account has room for so many documents of a kind. Of more apps nothing is remembered: that is
    no reason to refuse what they send.

    Attributes:
        spellings: The document with the URLs of feeds that moved.
        names: All its documents.
    """

    def __init__(self, admitted: Admitted, device: str) -> None:
        """Take who asks, and the device that they name, if they name one."""
        self._device = device
        self.spellings = DocumentName(DocumentKind.SPELLINGS, _name_of(admitted, device))
        self.names = [self.spellings]
        if device:
            self.names.append(DocumentName(DocumentKind.DEVICE, device))

    def known(self, documents: Mapping[DocumentName, KnownDocument]) -> Spellings:
        """Return by which URLs the app has feeds that moved."""
        return read_spellings(documents[self.spellings].body)

    def learned(
        self, documents: Mapping[DocumentName, KnownDocument], after: Spellings
    ) -> list[Document]:
        """Return what is to be saved of the app after it was told, or has sent, something."""
        learned = []
        for name in self.names:
            known = documents[name]
            if known.body is None and not devices.has_room(known.others):
                continue
            if name == self.spellings:
                before = self.known(documents)
                if after != before:
                    body = as_json(spellings.merged(before, before, after))
                    learned.append(Document(name.kind, name.name, body))
            elif known.body is None:  # nobody has described the device: it is called by its id
                body = as_json(devices.described(self._device, None, "", ""))
                learned.append(Document(name.kind, name.name, body))
        return learned


def read_spellings(body: str | None) -> Spellings:
    """Return what a document with spellings says; without one, nothing is known."""
    return _SPELLINGS.decode(body) if body else UNKNOWN


def _name_of(admitted: Admitted, device: str) -> str:
    """Return what tells an app from others: its device, or else a token of its own.

    Sessions do not: AntennaPod begins one with each sync.
    """
    if device:
        return f"device {device}"
    return f"token {admitted.token.id}" if admitted.token and not admitted.token.is_session else ""
