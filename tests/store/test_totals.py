"""Totals of stored data, counted in steps, are the same on every store."""

import asyncio
from collections import Counter

import pytest
from library import library
from list_values import account
from whole_store import all_accounts

from feedkeep.metrics import counting
from feedkeep.metrics.counting import Counting
from feedkeep.model import FeedHealth, Purpose, Token, replace
from feedkeep.model.errors import StoreUnavailable

NOW = 10**15
FIRST = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(counting, "SECONDS_BETWEEN_STEPS", 0.0)
    monkeypatch.setattr(counting, "ROWS_IN_A_STEP", 2)


@pytest.fixture
async def store(open_store):
    async with open_store(lambda: NOW) as store:
        yield store


def guid_of(number):
    return f"{number:08x}-0000-5000-8000-000000000000"


async def add_feeds(store, new, read, failing):
    count = new + read + failing
    await store.feeds.want({guid_of(n): f"https://{n}.example" for n in range(1, count + 1)}, NOW)
    leased = await store.feeds.lease(NOW, NOW + 9, count)
    for number, feed in enumerate(leased[: read + failing]):
        failed = {} if number < read else {"failing": NOW}
        assert await store.feeds.save(replace(feed, looked=NOW, **failed), NOW + 9)


async def test_all_accounts_former_states_and_feeds_are_counted(store):
    await store.fill(library(5, 16))
    wholes = [await store.entries.whole(account.id, 0) for account in await all_accounts(store)]
    await add_feeds(store, new=3, read=2, failing=4)
    counted = await Counting(store, lambda: NOW).count()
    assert counted.accounts == 5
    former = [s for whole in wholes for s in whole.history.states if s.ended is not None]
    assert counted.former_states == len(former) > 0
    health = {FeedHealth.NEW: 3, FeedHealth.READ: 2, FeedHealth.FAILING: 4}
    assert counted.feeds == health


async def test_sessions_that_have_ended_and_tokens_are_not_counted(store):
    for number in range(1, 4):
        one = account(number, f"user{number}")
        await store.accounts.create(one, one.name)
        token = Token(0, bytes([number, 0]) * 16, "", NOW)
        await store.tokens.add(one.id, token)
        session = replace(token, is_session=True)
        for kind, purpose, expires in (
            (1, Purpose.APPS, NOW + 1), (2, Purpose.APPS, NOW), (3, Purpose.PAGES, NOW + 1)
        ):  # fmt: skip
            hashed = bytes([number, kind]) * 16
            made = replace(session, hash=hashed, purpose=purpose, expires=expires)
            await store.tokens.add_session(one, made, 9, 9)
    counted = await Counting(store, lambda: NOW).count()
    assert counted.sessions == Counter({Purpose.APPS: 3, Purpose.PAGES: 3})
    lasting = [one for one in await store.tokens.of(2) if one.expires == NOW + 1]
    await store.tokens.revoke(2, lasting[0].id, NOW)
    counted = await Counting(store, lambda: NOW).count()
    assert counted.sessions == Counter({Purpose.APPS: 2, Purpose.PAGES: 3})


async def test_step_counts_so_many_and_the_last_one_nothing(store):
    await add_feeds(store, new=3, read=0, failing=0)
    for after, last, count in ((FIRST, guid_of(2), 2), (guid_of(2), guid_of(3), 1)):
        some = await store.totals.of_feeds(after, 2)
        assert (some.last, sum(some.health.values())) == (last, count)
    assert await store.totals.of_feeds(guid_of(3), 2) is None
    assert await store.totals.of_accounts(0, 2, NOW) is None


async def test_counting_continues_after_the_store_was_away(store, monkeypatch):
    monkeypatch.setattr(counting, "SECONDS_BETWEEN_ROUNDS", 0.0)

    class Away:
        """A store that is away at first."""

        failures = 3

        @property
        def totals(self):
            self.failures -= 1
            if self.failures >= 0:
                raise StoreUnavailable("away")
            return store.totals

    away = Away()
    async with Counting(away, lambda: NOW) as counted:
        while counted.last is None:  # noqa: ASYNC110 - it tells nobody when it has
            await asyncio.sleep(0)
    assert away.failures < 0
    assert counted.last.accounts == 0
