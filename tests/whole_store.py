"""Complete content of a small store, for tests."""

from __future__ import annotations

from feedkeep.model import Account
from feedkeep.service import Service
from feedkeep.store.base import Store


async def all_accounts(store: Store) -> list[Account]:
    return [person.account for person in await store.accounts.people("", 1_000)]


async def damages_of(service: Service) -> list[str]:
    """Return a sentence for each fault that a check finds."""
    return [damage async for checked in service.check() for damage in checked.faults]
