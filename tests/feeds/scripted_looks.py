"""Looks at feeds as a test wants them to be found, and a clock that tests set."""

from __future__ import annotations

import asyncio

from feedkeep.model import Feed, FeedContent, FetchResult, Stamp
from feedkeep.rules.clock import DAY_US


class Clock:
    """Shows the time that a test sets."""

    def __init__(self) -> None:
        self.at = Stamp(20_000 * DAY_US)

    def __call__(self) -> Stamp:
        self.at = Stamp(self.at + 1)
        return self.at

    def go_on(self, us: int) -> None:
        self.at = Stamp(self.at + us)


class ScriptedLooks:
    """Finds at each URL what a test says, and remembers what was looked at.

    Attributes:
        found: What is found at a URL, or raised; a feed that has its URL for a title where nothing
            is said.
        looked: The URLs that were looked at.
        etags: What each look could name to be told that nothing has changed.
        slow: URLs at which a look goes on until a test ends it.
        most_at_once: How many looks were under way at the same time, at most.
    """

    def __init__(self, found: dict[str, FetchResult | Exception] | None = None) -> None:
        self.found = found or {}
        self.looked: list[str] = []
        self.etags: list[str] = []
        self.slow: set[str] = set()
        self._waiting_for_slow: list[asyncio.Event] = []
        self.most_at_once = 0
        self.hosts_at_once: list[int] = []
        self.is_closed = False
        self._under_way: list[str] = []
        self._news = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def look(self, feed: Feed, now: Stamp) -> FetchResult:  # noqa: ARG002 - the protocol's
        self._under_way.append(feed.url.split("/")[2])
        self.most_at_once = max(self.most_at_once, len(self._under_way))
        of_a_host = [self._under_way.count(host) for host in self._under_way]
        self.hosts_at_once.append(max(of_a_host))
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

    async def close(self) -> None:
        self.is_closed = True

    async def end_slow(self, count: int) -> None:
        """End the looks that are slow, once there are so many."""
        while len(self._waiting_for_slow) < count:
            self._news.clear()
            await self._news.wait()
        for one in self._waiting_for_slow:
            one.set()
        self._waiting_for_slow.clear()

    async def until_looked_at(self, count: int) -> None:
        """Return when so many looks have begun."""
        while len(self.looked) < count:
            self._news.clear()
            await self._news.wait()
