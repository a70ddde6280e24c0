"""Fetch due feeds in the background.

Due feeds are fetched a few at once, but one at a time per host. Newly added, fast and slow feeds
share the slots (`rules/fetch_order.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import structlog

from feedkeep.feeds.slots import Slots
from feedkeep.feeds.sweep import SubscriptionSweep
from feedkeep.model import Feed, Fetch, FetchResult, Guid, Now, Stamp, replace
from feedkeep.model.errors import StoreUnavailable
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules import feed_schedule
from feedkeep.rules.clock import MINUTE_US, SECOND_US, shift
from feedkeep.rules.feed_schedule import WEEK_US, after_fetch, has_subscribers
from feedkeep.rules.feed_urls import host_of
from feedkeep.rules.fetch_order import (
    FIRST_DUE,
    FetchLimits,
    Lane,
    lane_of,
    minutes_put_off,
)
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.runtime.recorder import Recorder
from feedkeep.runtime.tasks import end
from feedkeep.store.base import Store

FETCHES_PER_SECOND = 4.0
"""Maximum rate of fetches: 345,000 feeds a day."""

LEASE_US = feed_schedule.LEASE_US
_NEEDED_US = 3 * MINUTE_US
"""Minimum remaining lease when a fetch starts; a fetch takes two minutes at most."""

_AHEAD = 8
"""Number of feeds queued in each lane, besides one for each slot; others wait in the store.

So a newly added feed waits for a few others at most, and fetches start within their leases.
"""

_OF_A_HOST = 4
"""Maximum number of queued feeds of one host, so that other hosts have a turn.

Newly added feeds beyond it are postponed until their host is free (`rules.fetch_order.HostQueues`).
"""

_JUST_ADDED = {Lane.NEW, Lane.PUT_OFF}

_LONGEST_WAIT_SECONDS = 30.0
_WAIT_FOR_OTHERS_SECONDS = 1.0
_FULL_WAIT_SECONDS = 1.0
_SHORTEST_WAIT_SECONDS = 0.2
_SECONDS_AFTER_A_FAILURE = 60.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class FeedFetcher(Protocol):
    """Fetcher of feeds."""

    async def look(self, feed: Feed, now: Stamp) -> FetchResult:
        """Fetch a feed.

        Raises:
            MachineFailed: This machine could not fetch; that says nothing about the feed.
        """

    async def close(self) -> None:
        """End running fetches."""


@dataclass(eq=False)
class _Leased:
    """A leased feed that is queued or being fetched."""

    feed: Feed
    until: Stamp
    host: str
    lane: Lane
    rank: int
    waits: bool = True
    task: asyncio.Task[None] | None = None


class FetchScheduler:
    """Fetches the feeds of all lists while its context is entered.

    Args:
        fetch: Kinds of feeds to fetch.
        at_once: Maximum number of concurrent fetches.
        recorder: Counts fetches.
        is_for_others: Whether to poll the store often, for feeds that other processes record
            (`noting_new`) and cannot announce.
        limits: Limits that this process's other fetches share; by default its own.
    """

    def __init__(
        self,
        store: Store,
        sweep: SubscriptionSweep,
        looks: FeedFetcher,
        now: Now,
        fetch: Fetch,
        at_once: int,
        recorder: Recorder | None = None,
        *,
        is_for_others: bool = False,
        limits: FetchLimits | None = None,
    ) -> None:
        self._recorder = recorder
        self._longest_wait = _WAIT_FOR_OTHERS_SECONDS if is_for_others else _LONGEST_WAIT_SECONDS
        self._store = store
        self._sweep = sweep
        self._looks = looks
        self._now = now
        self._fetch = fetch
        self._at_once = at_once
        self._slots = Slots(at_once, FETCHES_PER_SECOND)
        self._limits = limits or FetchLimits()
        self._queues = self._limits.queues
        self._here: set[_Leased] = set()
        self._leases: set[tuple[Guid, Stamp]] = set()
        self._leasing: asyncio.Task[Sequence[Feed]] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        if self._fetch is not Fetch.OFF:
            for work in (self._sweep.note_new, self._sweep.go_round, self._look_at_all):
                self._begin(_again(work))
        return self

    async def __aexit__(self, *_: object) -> None:
        # Unfinished feeds can be leased again at once.
        await end(*self._tasks)
        await self._looks.close()
        if self._leasing:
            await asyncio.wait([self._leasing])
        with contextlib.suppress(StoreUnavailable):
            for guid, until in self._leases:
                await self._store.feeds.release([guid], until)

    async def _look_at_all(self) -> None:
        self._sweep.is_news.clear()
        now = self._now()
        until = shift(now, LEASE_US)
        are_more = is_full = False
        # New and due feeds are leased separately, so that many of one kind do not keep the other
        # out.
        new, due = (Stamp(0), Stamp(FIRST_DUE - 1)), (FIRST_DUE, now)
        for lane, between in ((Lane.NEW, new), (Lane.QUICK, due)):
            room = self._room(lane)
            if room < _AHEAD // 2:
                is_full = True
                continue
            # On exit, a pending lease must complete, to be released.
            self._leasing = asyncio.create_task(self._lease(now, until, room, between))
            leased = await asyncio.shield(self._leasing)
            # At the same time, so that those to postpone share a commit.
            await asyncio.gather(*(self._hand_on(feed, until) for feed in leased))
            are_more = are_more or len(leased) == room
            if lane is Lane.NEW and not leased:
                self._sweep.turns.all_begun()
        if not are_more:
            await self._wait(now, is_full=is_full)

    async def _lease(
        self, now: Stamp, until: Stamp, room: int, between: tuple[Stamp, Stamp]
    ) -> Sequence[Feed]:
        leased = await self._store.feeds.lease(now, until, room, between)
        self._leases = {lease for lease in self._leases if lease[1] > now}
        self._leases.update((feed.guid, until) for feed in leased)
        return leased

    def _room(self, lane: Lane) -> int:
        return self._at_once + _AHEAD - sum(one.lane is lane for one in self._here)

    async def _wait(self, now: Stamp, *, is_full: bool) -> None:
        """Wait until a feed is due or this process announces a new one.

        If a lane is full, overdue feeds wait in the store for it, and hide the due times of other
        lanes, so this polls the store.
        """
        due = None if is_full else await self._store.feeds.next_fetch()
        seconds = _FULL_WAIT_SECONDS if is_full else self._longest_wait
        if due is not None:
            seconds = min(max((due - now) / SECOND_US, _SHORTEST_WAIT_SECONDS), seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._sweep.is_news.wait()

    async def _hand_on(self, feed: Feed, until: Stamp) -> None:
        """Queue a leased feed for its host, or postpone it."""
        may = may_look_at(feed.url, self._fetch, is_permitted=feed.is_permitted)
        if not may or not has_subscribers(feed, self._now()):
            await self._put_off(feed, until, WEEK_US)
            return
        if rest_us := self._rest_us(feed):
            await self._put_off(feed, until, rest_us)
            return
        lane, rank = lane_of(feed), self._queues.rank(feed)
        one = _Leased(feed, until, host_of(feed.url), lane, rank)
        of_lane = [other for other in self._here if other.lane is lane]
        of_host = [other for other in of_lane if other.host == one.host]
        is_full = len(of_host) >= _OF_A_HOST
        if not is_full and self._room(lane) > 0:
            self._let_wait(one)
            return
        # Of newly added feeds, the last one is postponed.
        rivals = (of_host if is_full else of_lane) if lane in _JUST_ADDED else []
        last = max([one, *(o for o in rivals if o.waits)], key=lambda o: o.rank)
        if last.task:
            last.task.cancel()
            self._here.remove(last)
            self._let_wait(one)
        await self._put_off(last.feed, last.until, self._until_room(last))

    def _let_wait(self, one: _Leased) -> None:
        self._here.add(one)
        one.task = self._begin(self._wait_and_look(one))

    def _until_room(self, one: _Leased) -> int:
        if one.lane not in _JUST_ADDED:
            return minutes_put_off(one.feed, _chance()) * MINUTE_US
        now = self._now()
        ahead = self._sweep.turns.ahead_of(one.feed)
        return self._queues.due(one.host, one.feed, now, ahead) - now

    def _rest_us(self, feed: Feed) -> int:
        """Return the delay of a feed in microseconds, with jitter."""
        rest_us = self._limits.rest_us(feed, self._now())
        return int(rest_us * (1 + _chance() / 10)) if rest_us else 0

    async def _put_off(self, feed: Feed, until: Stamp, us: int) -> None:
        self._limits.budgets.postpone(feed)
        put_off = replace(feed, next_fetch=shift(self._now(), us))
        await self._store.feeds.save(put_off, until, None, feed.next_fetch)
        self._leases.discard((feed.guid, until))

    async def _wait_and_look(self, one: _Leased) -> None:
        try:
            await self._look_at(one)
        except MachineFailed:  # the fetcher has logged it
            self._begin(self._release_later(one))
        except Exception as error:  # noqa: BLE001 - other feeds must go on; the lease expires
            _log.warning("cannot store fetch result; will fetch again", reason=repr(error))
            self._leases.discard((one.feed.guid, one.until))
        else:
            self._leases.discard((one.feed.guid, one.until))
        self._here.remove(one)
        self._sweep.is_news.set()

    async def _look_at(self, one: _Leased) -> None:
        feed, until = one.feed, one.until
        async with self._slots.of(one.lane, one.host, one.rank):
            one.waits = False
            self._sweep.turns.begun(feed)
            now = self._now()
            if now > shift(until, -_NEEDED_US):
                await self._store.feeds.release([feed.guid], until)
                return
            # Another feed of its host or account was fetched while this one waited.
            if rest_us := self._rest_us(feed):
                await self._put_off(feed, until, rest_us)
                return
            began = time.monotonic()
            looked = await self._looks.look(feed, now)
            looked = replace(looked, seconds=time.monotonic() - began)
        self._limits.fetched(feed, looked, now)
        seconds = looked.seconds + 1 / FETCHES_PER_SECOND
        self._queues.fetched(one.host, int(seconds * SECOND_US))
        after = after_fetch(feed, looked, now, _chance())
        if self._recorder:
            self._recorder.fetch(_result(looked, after), looked.seconds)
        # `after_fetch` may have rejected what was read.
        episodes = looked.episodes if after.episodes != feed.episodes else None
        await self._store.feeds.save(after, until, looked.picture, feed.next_fetch, episodes)

    async def _release_later(self, one: _Leased) -> None:
        """Hold the lease of a feed for a minute, then release it, which restores its due time.

        At most `FETCHES_PER_SECOND` feeds start to wait here. If the store is unavailable, the
        lease expires.
        """
        await asyncio.sleep(_SECONDS_AFTER_A_FAILURE)
        with contextlib.suppress(StoreUnavailable):
            await self._store.feeds.release([one.feed.guid], one.until)
        self._leases.discard((one.feed.guid, one.until))
        self._sweep.is_news.set()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


@contextlib.asynccontextmanager
async def noting_new(store: Store, sweep: SubscriptionSweep, fetch: Fetch) -> AsyncIterator[None]:
    """Context manager: record new feeds for another process that fetches them.

    Of several processes that serve one file, only one fetches: each by itself would send a host
    several requests at once.
    """
    if fetch is Fetch.OFF:
        yield
        return

    async def note() -> None:
        await sweep.note_new()
        sweep.turns.waiting_from(await store.feeds.next_fetch())

    noting = asyncio.create_task(_again(note))
    try:
        yield
    finally:
        await end(noting)


def _chance() -> float:
    return secrets.randbelow(1_000) / 1_000


def _result(looked: FetchResult, after: Feed) -> str:
    if after.failure is not None:
        return after.failure.value
    return "unchanged" if looked.content is None else "read"


async def _again(work: Callable[[], Awaitable[None]]) -> None:
    """Repeat some work forever, with a pause after an error."""
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - log any error and continue
            _log.warning("feed scheduler failed; will retry", reason=repr(error))
            await asyncio.sleep(_SECONDS_AFTER_A_FAILURE)
