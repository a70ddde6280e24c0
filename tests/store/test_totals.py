"""How much is stored, counted in steps, is the same on every store."""

import asyncio
from collections import Counter

import pytest
from library import library
from whole_store import all_accounts

from feedkeep.metrics import counting
from feedkeep.metrics.counting import Counting
from feedkeep.model import Account, AccountId, FeedHealth, Guid, Purpose, Stamp, Token, replace
from feedkeep.model.errors import StoreUnavailable
from feedkeep.store.base import Store

NOW = Stamp(10**15)
FIRST = Guid("00000000-0000-0000-0000-000000000000")


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(counting, "SECONDS_BETWEEN_STEPS", 0.0)
    monkeypatch.setattr(counting, "ROWS_IN_A_STEP", 2)


def guid_of(number: int) -> Guid:
    return Guid(f"{number:08x}-0000-5000-8000-000000000000")


async def add_feeds(store: Store, new: int, read: int, failing: int) -> None:
    count = new + read + failing
    await store.feeds.want({guid_of(n): f"https://{n}.example" for n in range(1, count + 1)}, NOW)
    leased = await store.feeds.lease(NOW, Stamp(NOW + 9), count)
    for number, feed in enumerate(leased):
        if number < read:
            assert await store.feeds.save(replace(feed, looked=NOW), Stamp(NOW + 9))
        elif number < read + failing:
            failed = replace(feed, looked=NOW, failing=NOW)
            assert await store.feeds.save(failed, Stamp(NOW + 9))


async def test_all_accounts_sessions_former_states_and_feeds_are_counted(open_store):
    async with open_store(lambda: NOW) as store:
        await store.fill(library(5, 16))
        wholes = [
            await store.entries.whole(account.id, Stamp(0)) for account in await all_accounts(store)
        ]
        await add_feeds(store, new=3, read=2, failing=4)
        counted = await Counting(store, lambda: NOW).count()
    assert counted.accounts == 5
    former = [s for whole in wholes for s in whole.history.states if s.ended is not None]
    assert counted.former_states == len(former) > 0
    assert counted.feeds == {
        FeedHealth.NEW: 3,
        FeedHealth.READ: 2,
        FeedHealth.FAILING: 4,
    }


async def test_sessions_that_have_ended_and_tokens_are_not_counted(open_store):
    async with open_store(lambda: NOW) as store:
        for number in range(1, 4):
            account = Account(AccountId(number), f"user{number}", None, False, NOW)
            await store.accounts.create(account, account.name)
            token = Token(0, bytes([number, 0]) * 16, "", NOW)
            await store.tokens.add(account.id, token)
            session = replace(token, is_session=True)
            for kind, purpose, expires in (
                (1, Purpose.APPS, Stamp(NOW + 1)),
                (2, Purpose.APPS, NOW),
                (3, Purpose.PAGES, Stamp(NOW + 1)),
            ):
                made = replace(
                    session, hash=bytes([number, kind]) * 16, purpose=purpose, expires=expires
                )
                await store.tokens.add_session(account, made, 9, 9)
        counted = await Counting(store, lambda: NOW).count()
        assert counted.sessions == Counter({Purpose.APPS: 3, Purpose.PAGES: 3})
        [revoked] = [
            one
            for one in await store.tokens.of(AccountId(2))
            if one.purpose is Purpose.APPS and one.expires == NOW + 1
        ]
        await store.tokens.revoke(AccountId(2), revoked.id, NOW)
        counted = await Counting(store, lambda: NOW).count()
        assert counted.sessions == Counter({Purpose.APPS: 2, Purpose.PAGES: 3})


async def test_a_step_counts_so_many_and_the_last_one_nothing(open_store):
    async with open_store(lambda: NOW) as store:
        await add_feeds(store, new=3, read=0, failing=0)
        some = await store.totals.of_feeds(FIRST, 2)
        assert some is not None
        assert (some.last, sum(some.health.values())) == (guid_of(2), 2)
        some = await store.totals.of_feeds(some.last, 2)
        assert some is not None
        assert (some.last, sum(some.health.values())) == (guid_of(3), 1)
        assert await store.totals.of_feeds(some.last, 2) is None
        assert await store.totals.of_accounts(AccountId(0), 2, NOW) is None


async def test_counting_goes_on_after_the_store_was_away(open_store, monkeypatch):
    monkeypatch.setattr(counting, "SECONDS_BETWEEN_ROUNDS", 0.0)

    class Away:
        """A store that is away at first."""

        def __init__(self, store):
            self.store = store
            self.failures = 3

        @property
        def totals(self):
            self.failures -= 1
            if self.failures >= 0:
                raise StoreUnavailable("away")
            return self.store.totals

    async with open_store(lambda: NOW) as store:
        away = Away(store)
        async with Counting(away, lambda: NOW) as counted:  # type: ignore[arg-type]
            while counted.last is None:  # noqa: ASYNC110 - it tells nobody when it has
                await asyncio.sleep(0)
        assert away.failures < 0
        assert counted.last.accounts == 0
