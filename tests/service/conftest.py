"""Fixtures shared by the tests of the service, which run on every store in CI.

In the short form, they use one store: `tests/store` has the tests common to all stores.
"""

import pytest
from forms import IS_LONG
from running import PASSWORD, Clock
from stores import database, emptied_database, path, service_on, shared_database

from feedkeep.model import Registration
from feedkeep.security import argon2id

if IS_LONG:
    from stores import open_store
else:
    from stores import open_store_of_one_kind as open_store

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database"]


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch):
    """Make hashing cheap: these tests check the use of hashes, not their cost."""
    monkeypatch.setattr(argon2id, "OURS", argon2id.Cost(8, 1, 1))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registration():
    return Registration.INVITED


@pytest.fixture
async def store(open_store, clock):
    async with open_store(clock) as store:
        yield store


@pytest.fixture
async def service(store, clock, registration):
    service = service_on(store, clock, registration=registration)
    yield service
    await service._last_uses.close()
    service._passwords.close()


@pytest.fixture
async def bob(service):
    """An account with a password."""
    return await service.accounts.create("Bob", PASSWORD)
