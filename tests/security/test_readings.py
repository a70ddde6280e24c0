"""Basic credentials in two encodings: every rejection takes the same time, and counts once."""

import pytest
from stores import service_on

from feedkeep.model import AccountId
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules import credentials
from feedkeep.rules.credentials import PasswordCredential, TokenCredential, read_basic
from feedkeep.runtime import wall_clock
from feedkeep.security import argon2id
from feedkeep.store.sqlite import SqliteStore

TOKEN = credentials.write_token(AccountId(7), bytes(21))


def test_basic_is_read_as_utf_8_and_as_latin_1():
    assert read_basic(b"me:a:b") == PasswordCredential("me", "a:b")
    latin1 = PasswordCredential("m\u00c3\u00a9", "\u00e2\u0082\u00ac")
    assert read_basic("mé:€".encode()) == PasswordCredential("mé", "€", latin1)
    assert read_basic("mé:x".encode("latin-1")) == PasswordCredential("mé", "x")
    assert read_basic(b"me") is None
    token = credentials.read_token(TOKEN)

    def named(*names):
        return TokenCredential(token.account_id, token.hash, list(names))

    assert read_basic(f"me:{TOKEN}".encode()) == named("me")
    assert read_basic(f"mé:{TOKEN}".encode("latin-1")) == named("mé")
    assert read_basic(f"mé:{TOKEN}".encode()) == named("mé", "m\u00c3\u00a9")


async def test_every_refusal_costs_the_same(tmp_path, monkeypatch):
    looked_up, computed, counted = [], [], []
    store = await SqliteStore.open(tmp_path / "feedkeep.db", wall_clock.now)
    service = service_on(store, wall_clock.now)
    for name in ("zoê", "zu\u00c3\u00aa", "disablê"):
        await service.accounts.create(name, "a good passphrase")
    await service.accounts.set_disabled("disablê", True)
    find, begin = store.accounts.find, service._throttle.begin

    def noting(calls, original):
        return lambda *arguments: calls.append(arguments) or original(*arguments)

    monkeypatch.setattr(store.accounts, "find", noting(looked_up, find))
    monkeypatch.setattr(argon2id, "matches", noting(computed, lambda *_: False))
    monkeypatch.setattr(service._throttle, "begin", noting(counted, begin))
    for number, name in enumerate(("zoê", "zuê", "nobodê", "disablê")):
        for calls in (looked_up, computed, counted):
            calls.clear()
        shown = read_basic(f"{name}:wrong".encode())
        with pytest.raises(NotAuthorized):
            await service.authentication.admit(shown, f"192.0.2.{number}")
        assert (len(looked_up), len(computed), len(counted)) == (2, 1, 1), name
    await service.close()
