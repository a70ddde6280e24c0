"""Hashes of earlier versions and of elsewhere are replaced when their password comes."""

import asyncio

import pytest
from running import HOME, PASSWORD
from stores import service_on

from feedkeep.model.errors import StoreUnavailable
from feedkeep.rules.credentials import PasswordCredential
from feedkeep.security import argon2id
from feedkeep.security.argon2id import Cost
from feedkeep.service import Service
from feedkeep.store.base import Store

FORMER, OURS = Cost(64, 3, 4), Cost(64, 3, 1)
SHOWN = PasswordCredential("Bob", PASSWORD)


async def hash_of_bob(store: Store) -> str:
    return (await store.accounts.find("bob")).password_hash


async def all_replaced(service: Service) -> None:
    await asyncio.gather(*service.authentication._rehashing._tasks.values())


@pytest.fixture
async def former(monkeypatch, service, store):
    """A hash of an earlier version, of Bob's password."""
    monkeypatch.setattr(argon2id, "OURS", FORMER)
    await service.accounts.create("Bob", PASSWORD)
    monkeypatch.setattr(argon2id, "OURS", OURS)
    return await hash_of_bob(store)


async def test_a_right_password_replaces_an_older_hash(former, monkeypatch, service, store):
    renewed, may_begin = service._passwords.renewed, asyncio.Event()

    async def renewed_later(*given):
        await may_begin.wait()
        return await renewed(*given)

    monkeypatch.setattr(service._passwords, "renewed", renewed_later)
    admitted = await service.authentication.admit(SHOWN, HOME)
    await service.authentication.admit(SHOWN, HOME)
    assert len(service.authentication._rehashing._tasks) == 1
    assert await hash_of_bob(store) == former  # no request waits for it
    session = await service.page_sessions.begin(admitted.account, "")
    may_begin.set()
    await all_replaced(service)
    replaced = await hash_of_bob(store)
    assert replaced.startswith("$argon2id$v=19$m=64,t=3,p=1$")
    # What the old hash let in just before goes on, and the password is remembered.
    await service.logins.begin_session(admitted, "gPodder")
    await service.page_sessions.admit(session.text)
    assert service._passwords.remembers("bob", PASSWORD, replaced)
    await service.authentication.admit(SHOWN, HOME)
    assert not service.authentication._rehashing._tasks


@pytest.mark.usefixtures("former")
async def test_a_new_password_is_not_replaced_by_a_hash_of_the_old_one(service, store):
    await service.authentication.admit(SHOWN, HOME)
    await service.accounts.set_password("Bob", "battery staple")
    new = await hash_of_bob(store)
    await all_replaced(service)
    assert await hash_of_bob(store) == new


async def test_a_hash_is_replaced_after_the_next_start(former, monkeypatch, service, store, clock):
    async def unavailable(*_):
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(store.accounts, "replace_hash", unavailable)
        await service.authentication.admit(SHOWN, HOME)
        await all_replaced(service)
    await service.authentication.admit(SHOWN, HOME)
    await service.authentication.close()  # meanwhile
    assert await hash_of_bob(store) == former
    assert not service.authentication._rehashing._tasks
    next_one = service_on(store, clock)
    await next_one.authentication.admit(SHOWN, HOME)
    await all_replaced(next_one)
    assert await hash_of_bob(store) != former
    next_one._passwords.close()
