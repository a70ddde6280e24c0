"""What is remembered of a cluster's shards, and for how long."""

import asyncio
from types import SimpleNamespace

from feedkeep.model import AccountId
from feedkeep.store.postgres import runner
from feedkeep.store.postgres.runner import MAX_REMEMBERED, REMEMBERED_SECONDS, Shards


class Coordinator:
    """Counts what it is asked; accounts are in ten shards, and later in others."""

    def __init__(self) -> None:
        self.asked = 0
        self.first = 100

    async def find(self, account_id: AccountId) -> int:
        self.asked += 1
        return self.first + account_id % 10


def test_a_shard_is_asked_for_once_a_minute(monkeypatch):
    now = 1_000.0
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: now))
    coordinator = Coordinator()
    known = Shards(coordinator.find)

    async def shards_of(*account_ids):
        return [await known.of(AccountId(account_id)) for account_id in account_ids]

    assert asyncio.run(shards_of(7, 17, 8, 7)) == [107, 107, 108, 107]
    assert coordinator.asked == 3
    coordinator.first = 200  # it was split
    assert asyncio.run(shards_of(7)) == [107]
    now += REMEMBERED_SECONDS + 1
    assert asyncio.run(shards_of(7, 8)) == [207, 208]
    assert coordinator.asked == 5


def test_no_more_shards_are_remembered_than_there_is_room_for():
    coordinator = Coordinator()
    known = Shards(coordinator.find)

    async def go():
        for number in range(MAX_REMEMBERED + 10):
            await known.of(AccountId(number))

    asyncio.run(go())
    assert len(known._known) == 10
