"""Keeps what is known of feeds up to date, all day long, beside the requests.

Feeds are looked at when it is their time, a few at once, and of each host one.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, Self

import structlog

from feedkeep.errors import StoreUnavailable
from feedkeep.feeds.failures import MachineFailed
from feedkeep.feeds.rounds import Rounds
from feedkeep.model import Feed, Fetch, Guid, Looked, Now, Stamp, replace
from feedkeep.recorder import Recorder
from feedkeep.rules import feed_schedule
from feedkeep.rules.clock import later
from feedkeep.rules.feed_schedule import MINUTE_US, SECOND_US, WEEK_US, after_look, is_wanted
from feedkeep.rules.feed_urls import host_of
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.store.base import Store

LOOKS_A_SECOND = 4.0
"""How many looks begin in a second at most: 345,000 feeds a day."""

LEASE_US = feed_schedule.LEASE_US
_NEEDED_US = 3 * MINUTE_US
"""What a lease has to last when a look begins; a look takes two minutes at most."""

_LEASED = 64
_OF_A_HOST = 16
"""How many feeds of one host wait here; more of them wait in the store, so that others come by."""

_LONGEST_WAIT_SECONDS = 30.0
_SHORTEST_WAIT_SECONDS = 0.2
_SECONDS_AFTER_A_FAILURE = 60.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Looks(Protocol):
    """What looks at feeds."""

    async def look(self, feed: Feed, now: Stamp) -> Looked:
        """Return what is at the URL of a feed now.

        Raises:
            MachineFailed: This machine could not look; nothing is known of the feed by that.
        """

    async def close(self) -> None:
        """End what is under way."""


class Keeper:
    """Looks at the feeds of all lists."""

    def __init__(
        self,
        store: Store,
        rounds: Rounds,
        looks: Looks,
        now: Now,
        fetch: Fetch,
        at_once: int,
        recorder: Recorder | None = None,
    ) -> None:
        """Look at up to `at_once` feeds at a time; which ones, `fetch` says.

        `recorder` counts looks, if it is given.
        """
        self._recorder = recorder
        self._store = store
        self._rounds = rounds
        self._looks = looks
        self._now = now
        self._fetch = fetch
        self._slots = asyncio.Semaphore(at_once)
        self._pace = asyncio.Lock()
        self._waiting: dict[str, deque[tuple[Feed, Stamp]]] = {}
        self._leases: set[tuple[Guid, Stamp]] = set()
        self._leasing: asyncio.Task[Sequence[Feed]] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Begin, unless nothing is to be looked at."""
        if self._fetch is not Fetch.OFF:
            for work in (self._rounds.note_new, self._rounds.go_round, self._look_at_all):
                self._begin(_again(work))
        return self

    async def __aexit__(self, *_: object) -> None:
        """End; what was not looked at can be leased again at once."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._looks.close()
        if self._leasing:
            await asyncio.wait([self._leasing])
        with contextlib.suppress(StoreUnavailable):
            for guid, until in self._leases:
                await self._store.feeds.give_back([guid], until)

    async def _look_at_all(self) -> None:
        self._rounds.is_news.clear()
        room = _LEASED - sum(map(len, self._waiting.values()))
        if room < _LEASED // 2:
            await self._rounds.is_news.wait()
            return
        now = self._now()
        until = later(now, LEASE_US)
        # Whoever ends meanwhile waits for what is leased, to give it back.
        self._leasing = asyncio.create_task(self._lease(now, until, room))
        leased = await asyncio.shield(self._leasing)
        for feed in leased:
            await self._hand_on(feed, until)
        if len(leased) < room:
            await self._wait(now)

    async def _lease(self, now: Stamp, until: Stamp, room: int) -> Sequence[Feed]:
        leased = await self._store.feeds.lease(now, until, room)
        self._leases = {lease for lease in self._leases if lease[1] > now}
        self._leases.update((feed.guid, until) for feed in leased)
        return leased

    async def _wait(self, now: Stamp) -> None:
        """Wait until a feed is due, or there is news here; other processes tell none."""
        due = await self._store.feeds.next_look()
        seconds = _LONGEST_WAIT_SECONDS
        if due is not None:
            seconds = min(max((due - now) / SECOND_US, _SHORTEST_WAIT_SECONDS), seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rounds.is_news.wait()

    async def _hand_on(self, feed: Feed, until: Stamp) -> None:
        """Let a leased feed wait for its turn at its host."""
        may = may_look_at(feed.url, self._fetch, is_permitted=feed.is_permitted)
        if not may or not is_wanted(feed, self._now()):
            await self._put_off(feed, until, WEEK_US)
            return
        host = host_of(feed.url)
        waiting = self._waiting.setdefault(host, deque())
        if len(waiting) >= _OF_A_HOST:
            await self._put_off(feed, until, (1 + secrets.randbelow(5)) * MINUTE_US)
            return
        waiting.append((feed, until))
        if len(waiting) == 1:
            self._begin(self._look_at_host(host))

    async def _put_off(self, feed: Feed, until: Stamp, us: int) -> None:
        put_off = replace(feed, next_look=later(self._now(), us))
        await self._store.feeds.save(put_off, until, None, feed.next_look)
        self._leases.discard((feed.guid, until))

    async def _look_at_host(self, host: str) -> None:
        waiting = self._waiting[host]
        while waiting:
            feed, until = waiting[0]
            try:
                await self._look_at(feed, until)
            except Exception as error:  # noqa: BLE001 - others wait; and its lease ends by itself
                _log.warning("what a look has found is not stored", reason=repr(error))
            waiting.popleft()
            self._leases.discard((feed.guid, until))
            self._rounds.is_news.set()
        del self._waiting[host]

    async def _look_at(self, feed: Feed, until: Stamp) -> None:
        async with self._slots:
            async with self._pace:
                await asyncio.sleep(1 / LOOKS_A_SECOND)
            now = self._now()
            if now > later(until, -_NEEDED_US):
                await self._store.feeds.give_back([feed.guid], until)
                return
            began = time.monotonic()
            try:
                looked = await self._looks.look(feed, now)
            except MachineFailed:  # what looks has logged it, once
                await self._put_off(feed, until, MINUTE_US)
                return
            seconds = time.monotonic() - began
        after = after_look(feed, looked, now, secrets.randbelow(1_000) / 1_000)
        if self._recorder:
            self._recorder.fetch(_result(looked, after), seconds)
        await self._store.feeds.save(after, until, looked.picture, feed.next_look)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _result(looked: Looked, after: Feed) -> str:
    """Return what a look came to, for metrics."""
    if after.failure is not None:
        return after.failure.value
    return "unchanged" if looked.content is None else "read"


async def _again(work: Callable[[], Awaitable[None]]) -> None:
    """Do some work again and again, also after the store was away."""
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - it has to go on, whatever it was
            _log.warning("feeds cannot be looked at for now", reason=repr(error))
            await asyncio.sleep(_SECONDS_AFTER_A_FAILURE)
