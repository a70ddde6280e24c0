"""Stored state of apps, and their treatment when an account has no room for it."""

import pytest

from feedkeep.model import DocumentKind, DocumentName, Guid, KnownDocument, Stamp
from feedkeep.rules.app_identity import App
from feedkeep.rules.app_urls import NO_RECORD, UNKNOWN, AppUrls
from feedkeep.rules.devices import MAX_DOCUMENTS
from feedkeep.rules.echoes import Echoes
from feedkeep.service.remembered_apps import RememberedApp, read_app_urls

LEARNED = AppUrls(known=frozenset({Guid("0a0a0a0a-0a0a-5a0a-8a0a-0a0a0a0a0a0a")}))
NOW = Stamp(7)


@pytest.fixture
def app():
    return RememberedApp(App("phone", None, "AntennaPod/"))


def kinds(documents):
    return [document.kind for document in documents]


def there(app, others):
    return {name: KnownDocument(None, others) for name in app.names}


def test_a_new_device_and_what_was_learned_of_it_are_remembered(app):
    saved = app.learned(there(app, MAX_DOCUMENTS - 1), LEARNED, NOW)
    assert kinds(saved) == [DocumentKind.APP_URLS, DocumentKind.DEVICE]
    assert read_app_urls(saved[0].body).known == LEARNED.known


def test_without_room_nothing_is_remembered_and_nothing_refused_or_in_doubt(app):
    full = there(app, MAX_DOCUMENTS)
    assert app.learned(full, LEARNED, NOW) == []
    assert app.known(full) == UNKNOWN


def test_what_would_be_too_long_leaves_an_app_in_doubt(app):
    [first] = app.noted(there(app, 0), LEARNED, NOW)
    guids = (Guid(f"{number:08x}-0a0a-5a0a-8a0a-0a0a0a0a0a0a") for number in range(99))
    echoes = Echoes(NOW, frozenset(guids))
    after = AppUrls(known=frozenset(), echoes=echoes)
    there_now = {app.document: KnownDocument(first.body, MAX_DOCUMENTS)}
    [saved] = app.noted(there_now, after, NOW)
    in_doubt = read_app_urls(saved.body)
    assert (in_doubt.known, in_doubt.is_full) == (LEARNED.known, True)
    assert in_doubt.echoes == Echoes(NOW, None, None)
    assert app.noted({app.document: KnownDocument(saved.body, MAX_DOCUMENTS)}, after, NOW) == []


def test_what_is_known_already_is_not_saved_again(app):
    saved = app.learned(there(app, 0), LEARNED, NOW)
    known = {DocumentName(one.kind, one.name): KnownDocument(one.body) for one in saved}
    stored = app.known(known)
    assert app.learned(known, stored, NOW) == []
    assert kinds(app.learned(known, UNKNOWN, NOW)) == [DocumentKind.APP_URLS]


def test_what_an_app_had_before_its_first_record_is_not_known(app):
    assert app.known(there(app, 0)) == NO_RECORD
    [record] = app.noted(there(app, 0), NO_RECORD, NOW)
    assert read_app_urls(record.body) == AppUrls(began=NOW)
