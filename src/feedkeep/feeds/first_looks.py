"""Look at addresses before a person subscribes to them; nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Protocol, Self, TypeAlias

from feedkeep.feeds.slots import Slots
from feedkeep.model import AccountId, Feed, Fetch, FetchResult, Now, Stamp
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules.feed_urls import guid_of, host_of
from feedkeep.rules.fetch_order import FairTurns, FetchLimits, lane_of
from feedkeep.rules.first_looks import FoundFeeds, feeds_behind
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.runtime.tasks import end

AT_ONCE = 16
"""Maximum number of concurrent looks, each at another host."""

OF_AN_ACCOUNT = 4
"""Maximum number of concurrent looks for one account."""

A_SECOND = 10.0
"""Maximum rate of looks."""

MAX_ACCOUNTS = 100
"""Maximum number of accounts for which a process looks concurrently."""

Found: TypeAlias = Mapping[str, FoundFeeds | None]
"""Feeds behind addresses, by address; None for an address to add itself."""


class BriefFetcher(Protocol):
    """Fetcher of the beginnings of feeds."""

    async def look_briefly(self, feed: Feed, now: Stamp) -> FetchResult:
        """Fetch the beginning of a feed.

        Raises:
            MachineFailed: This machine could not fetch; that says nothing about the feed.
        """


class FirstLooks:
    """Looks at addresses for accounts while its context is entered.

    Looks have turns, slots and a pace of their own, so they wait for no other fetch; the limits of
    hosts and accounts hold for both. A fetch that has begun goes on to its end, when it frees its
    slot and is charged, even if its person waits no longer.
    """

    def __init__(self, fetcher: BriefFetcher, limits: FetchLimits, now: Now, fetch: Fetch) -> None:
        self._fetcher = fetcher
        self._limits = limits
        self._now = now
        self._fetch = fetch
        self._turns = FairTurns()
        self._slots = Slots(AT_ONCE, A_SECOND)
        self._looking: dict[AccountId, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(*self._looking.values())

    def is_looking(self, account_id: AccountId) -> bool:
        """Whether looks of an account go on, even if its person waits no longer."""
        return account_id in self._looking

    async def look(self, account_id: AccountId, urls: Sequence[str], seconds: float) -> Found:
        """Return the feeds behind addresses, as far as they are found within `seconds`.

        An address of which nothing is known is omitted. While earlier looks of the account go on,
        no other one begins.
        """
        if self.is_looking(account_id) or len(self._looking) >= MAX_ACCOUNTS:
            return {}
        until = asyncio.get_running_loop().time() + seconds
        few = asyncio.Semaphore(OF_AN_ACCOUNT)
        found: dict[str, FoundFeeds | None] = {}

        async def look_at(url: str) -> FetchResult | None:
            return await self._look(account_id, url, few, until)

        async def look_at_all() -> None:
            await asyncio.gather(*(_look_behind(url, look_at, found) for url in urls))

        self._looking[account_id] = looking = asyncio.create_task(look_at_all())
        looking.add_done_callback(lambda _: self._looking.pop(account_id))
        await asyncio.wait([looking], timeout=seconds)
        return dict(found)  # looks that go on find more

    async def _look(
        self, account_id: AccountId, url: str, few: asyncio.Semaphore, until: float
    ) -> FetchResult | None:
        """Return the result of a look that begins before `until`; None without one."""
        is_late = asyncio.get_running_loop().time() >= until
        if is_late or not may_look_at(url, self._fetch):
            return None
        now = self._now()
        feed = Feed(guid_of(url), url, now, self._turns.next_of(account_id))
        with suppress(TimeoutError, MachineFailed):
            async with AsyncExitStack() as held:
                async with asyncio.timeout_at(until):
                    await held.enter_async_context(few)
                    slot = self._slots.of(lane_of(feed), host_of(url), feed.next_fetch)
                    await held.enter_async_context(slot)
                self._turns.begun(feed)
                if self._limits.rest_us(feed, now):
                    return None
                looked = await self._fetcher.look_briefly(feed, now)
                self._limits.fetched(feed, looked, now)
                return looked
        return None


async def _look_behind(
    url: str,
    look_at: Callable[[str], Awaitable[FetchResult | None]],
    found: dict[str, FoundFeeds | None],
) -> None:
    """Look at an address, then at the feeds that it names; keep `found` current all the time."""
    looked = await look_at(url)
    if looked is None:
        return
    named: dict[str, FetchResult] = {}
    found[url] = feeds_behind(url, looked, named)

    async def look_at_named(one: str) -> None:
        if result := await look_at(one):
            named[one] = result
            found[url] = feeds_behind(url, looked, named)

    await asyncio.gather(*map(look_at_named, looked.page_feeds))
