"""What is remembered of an app while an account has room for that, and what if it has not."""

from __future__ import annotations

import pytest

from feedkeep.model import (
    Document,
    DocumentKind,
    DocumentName,
    Guid,
    KnownDocument,
    Stamp,
    TokenId,
)
from feedkeep.rules.app_identity import App
from feedkeep.rules.app_urls import NO_RECORD, UNKNOWN, AppUrls
from feedkeep.rules.devices import MAX_DOCUMENTS
from feedkeep.service.documents import as_json
from feedkeep.service.remembered_apps import RememberedApp, read_app_urls

LEARNED = AppUrls(known=frozenset({Guid("0a0a0a0a-0a0a-5a0a-8a0a-0a0a0a0a0a0a")}))
NOW = Stamp(7)


@pytest.fixture
def app() -> RememberedApp:
    return RememberedApp(App("phone", None, "AntennaPod/"))


def kinds(documents: list[Document]) -> list[DocumentKind]:
    return [document.kind for document in documents]


def there(app: RememberedApp, others: int) -> dict[DocumentName, KnownDocument]:
    return {name: KnownDocument(None, others) for name in app.names}


def test_a_new_device_and_what_was_learned_of_it_are_remembered(app: RememberedApp) -> None:
    saved = app.learned(there(app, MAX_DOCUMENTS - 1), LEARNED, NOW)
    assert kinds(saved) == [DocumentKind.SPELLINGS, DocumentKind.DEVICE]
    assert read_app_urls(saved[0].body).known == LEARNED.known


def test_without_room_nothing_is_remembered_and_nothing_refused_or_in_doubt(
    app: RememberedApp,
) -> None:
    full = there(app, MAX_DOCUMENTS)
    assert app.learned(full, LEARNED, NOW) == []
    assert app.known(full) == UNKNOWN


def test_what_is_known_already_is_not_saved_again(app: RememberedApp) -> None:
    saved = app.learned(there(app, 0), LEARNED, NOW)
    known = {DocumentName(one.kind, one.name): KnownDocument(one.body) for one in saved}
    known = there(app, 0) | known
    stored = app.known(known)
    assert app.learned(known, stored, NOW) == []
    assert kinds(app.learned(known, UNKNOWN, NOW)) == [DocumentKind.SPELLINGS]


def test_what_an_app_had_before_its_first_record_is_not_known(app: RememberedApp) -> None:
    assert app.known(there(app, 0)) == NO_RECORD
    [record] = app.noted(there(app, 0), NO_RECORD, NOW)
    assert read_app_urls(record.body) == AppUrls(began=NOW)


@pytest.mark.parametrize(
    ("app", "name"),
    [
        (App("phone", None, "AntennaPod/"), "device phone"),
        (App("", TokenId(4), "AntennaPod"), "token 4"),
        (App("", None, "Kasts/"), ""),
    ],
)
def test_what_was_stored_of_a_device_or_a_token_before_is_read_and_then_taken_over(
    app: App, name: str
) -> None:
    remembered = RememberedApp(app)
    former = DocumentName(DocumentKind.SPELLINGS, name)
    documents = there(remembered, 1) | {former: KnownDocument(as_json(LEARNED))}
    assert remembered.known(documents) == LEARNED
    [record] = remembered.noted(documents, LEARNED, NOW)
    assert record.name == app.key
    documents |= {DocumentName(record.kind, record.name): KnownDocument(as_json(UNKNOWN))}
    assert remembered.known(documents) == UNKNOWN
