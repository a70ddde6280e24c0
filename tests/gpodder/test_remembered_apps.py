"""What is remembered of an app while an account has room for that, and what if it has not."""

from __future__ import annotations

import pytest

from feedkeep.model import (
    Account,
    AccountId,
    Admitted,
    CredentialKind,
    Document,
    DocumentKind,
    DocumentName,
    Guid,
    KnownDocument,
    Stamp,
)
from feedkeep.rules.devices import MAX_DOCUMENTS
from feedkeep.rules.spellings import UNKNOWN, Spellings
from feedkeep.service.remembered_apps import RememberedApp, read_spellings

ALICE = Account(AccountId(1), "alice", None, False, Stamp(0))
LEARNED = Spellings(known=frozenset({Guid("0a0a0a0a-0a0a-5a0a-8a0a-0a0a0a0a0a0a")}))


@pytest.fixture
def app() -> RememberedApp:
    return RememberedApp(Admitted(ALICE, CredentialKind.PASSWORD), "phone")


def kinds(documents: list[Document]) -> list[DocumentKind]:
    return [document.kind for document in documents]


def there(app: RememberedApp, others: int) -> dict[DocumentName, KnownDocument]:
    return {name: KnownDocument(None, others) for name in app.names}


def test_a_new_device_and_what_was_learned_of_it_are_remembered(app: RememberedApp) -> None:
    saved = app.learned(there(app, MAX_DOCUMENTS - 1), LEARNED)
    assert kinds(saved) == [DocumentKind.SPELLINGS, DocumentKind.DEVICE]
    assert read_spellings(saved[0].body) == LEARNED


def test_without_room_nothing_is_remembered_and_nothing_refused(app: RememberedApp) -> None:
    assert app.learned(there(app, MAX_DOCUMENTS), LEARNED) == []


def test_what_is_known_already_is_not_saved_again(app: RememberedApp) -> None:
    saved = app.learned(there(app, 0), LEARNED)
    known = {DocumentName(one.kind, one.name): KnownDocument(one.body) for one in saved}
    assert app.known(known) == LEARNED
    assert app.learned(known, LEARNED) == []
    assert kinds(app.learned(known, UNKNOWN)) == [DocumentKind.SPELLINGS]
