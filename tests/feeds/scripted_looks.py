"""A service with a clock that tests set, and fetches that find at each URL what tests say."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from authors import TESTER
from stores import service_on

from feedkeep.feeds import scheduler as scheduling
from feedkeep.feeds import sweep as sweeping
from feedkeep.feeds.scheduler import FetchScheduler
from feedkeep.feeds.sweep import SubscriptionSweep
from feedkeep.model import FeedContent, Fetch, FetchResult
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Wanted

PATIENCE_SECONDS = 30.0
"""Far more than any test takes; what never comes to pass ends it with an error."""


def guid(url):
    return parse_feed_url(url).guid


class Clock:
    """Shows the time that a test sets."""

    def __init__(self):
        self.at = 20_000 * DAY_US

    def __call__(self):
        self.at += 1
        return self.at

    def go_on(self, us):
        self.at += us


class ScriptedLooks:
    """A fetcher with scripted results, which records the fetches.

    Attributes:
        found: Result or exception by URL; by default, a feed with its URL as its title.
        looked: URLs of the fetches.
        etags: ETag of the feed at each fetch.
        slow: URLs whose fetches continue until a test ends them.
        most_at_once: Maximum number of concurrent fetches.
    """

    def __init__(self):
        self.found = {}
        self.looked, self.etags = [], []
        self.slow, self._waiting_for_slow = set(), []
        self.most_at_once, self.hosts_at_once = 0, []
        self.is_closed = False
        self._under_way = []
        self._news = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def look(self, feed, _now):
        self._under_way.append(feed.url.split("/")[2])
        self.most_at_once = max(self.most_at_once, len(self._under_way))
        self.hosts_at_once.append(max(map(self._under_way.count, self._under_way)))
        self.looked.append(feed.url)
        self.etags.append(feed.etag)
        self._news.set()
        await asyncio.sleep(0)
        await self.gate.wait()
        if feed.url in self.slow:
            self._waiting_for_slow.append(asyncio.Event())
            self._news.set()
            await self._waiting_for_slow[-1].wait()
        self._under_way.remove(feed.url.split("/")[2])
        seen = FetchResult(FeedContent(title=feed.url, items=("1", "2", "3")))
        found = self.found.get(feed.url, seen)
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self):
        self.is_closed = True

    async def end_slow(self, count):
        """End the looks that are slow, once there are so many."""
        while len(self._waiting_for_slow) < count:
            self._news.clear()
            await self._news.wait()
        for one in self._waiting_for_slow:
            one.set()
        self._waiting_for_slow.clear()

    async def until_looked_at(self, count):
        """Wait until `count` fetches have begun."""
        while len(self.looked) < count:
            self._news.clear()
            await self._news.wait()


class World:
    """A service on a store, what goes through its lists, and what looks at its feeds."""

    def __init__(self, store, clock):
        self.store, self.clock, self.looks = store, clock, ScriptedLooks()
        self.service = service_on(store, clock)
        self.sweep = self._sweep(Fetch.PUBLIC)

    def _sweep(self, fetch):
        service = self.service
        moves = service.followed_moves
        return SubscriptionSweep(self.store, service.new_feeds, moves, self.clock, fetch)

    @asynccontextmanager
    async def scheduler(self, fetch=Fetch.PUBLIC, at_once=8, recorder=None):
        sweep, looks = self._sweep(fetch), self.looks
        scheduler = FetchScheduler(self.store, sweep, looks, self.clock, fetch, at_once, recorder)
        async with asyncio.timeout(PATIENCE_SECONDS), scheduler:
            yield

    async def subscribe(self, *urls, name="alice"):
        account = await self.service.accounts.create(name, None)
        return await self.add(account.id, *urls)

    async def add(self, account_id, *urls):
        """Subscribe an account, also to URLs that only lists of the past have."""
        items = [Wanted(url, parse_feed_url(url), None) for url in urls]
        await self.service.subscriptions.add(account_id, items, TESTER)
        return account_id

    async def title(self, account_id, url):
        """Return the title of a feed that an account is shown."""
        found = await self.service.known_feeds.headlines_at(account_id, [url])
        return found[url].title if url in found else ""

    async def stored(self, *urls):
        """Return those of these feeds that are stored."""
        known = await self.store.feeds.known([guid(url) for url in urls])
        return [known[guid(url)] for url in urls if guid(url) in known]

    async def until(self, is_so, *urls):
        """Return those of these feeds that are stored, once they are as wanted."""
        while not is_so(feeds := await self.stored(*urls)):  # noqa: ASYNC110
            await asyncio.sleep(0)
        return feeds

    async def noted(self, *urls):
        """Return once feeds are waiting for a look."""
        await self.until(lambda feeds: len(feeds) == len(urls), *urls)

    async def looked_at(self, *urls):
        """Return feeds once all were looked at, and what was found is stored."""
        return await self.until(
            lambda feeds: sum(bool(f.looked) for f in feeds) == len(urls), *urls
        )

    async def until_put_off(self, count, *urls):
        """Return those of these feeds that are not due yet, once they are so many."""
        put_off = []
        while len(put_off) < count:
            await asyncio.sleep(0)
            put_off = [f for f in await self.stored(*urls) if f.next_fetch > self.clock.at]
        return put_off


@pytest.fixture
async def world(open_store, monkeypatch):
    monkeypatch.setattr(scheduling, "FETCHES_PER_SECOND", 10_000.0)
    monkeypatch.setattr(scheduling, "_SHORTEST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(scheduling, "_LONGEST_WAIT_SECONDS", 0.5)
    monkeypatch.setattr(sweeping, "_SECONDS_BETWEEN_STEPS", 0.0)
    monkeypatch.setattr(sweeping, "NOTED_A_SECOND", 10_000)
    clock = Clock()
    async with open_store(clock) as store:
        world = World(store, clock)
        yield world
        world.service._passwords.close()
