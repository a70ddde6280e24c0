"""Keeps what is known of feeds up to date, all day long, beside the requests.

Feeds are looked at when it is their time, a few at once, and of each host one. Feeds that were just
added, those that answered quickly, and those that did not, share the slots
(`rules/fetch_order.py`).
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
from feedkeep.rules.clock import MINUTE_US, SECOND_US, later
from feedkeep.rules.feed_schedule import WEEK_US, after_look, is_wanted
from feedkeep.rules.feed_urls import host_of
from feedkeep.rules.fetch_budgets import FetchBudgets
from feedkeep.rules.fetch_order import FIRST_DUE, HostQueues, Lane, lane_of, minutes_put_off
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.runtime.recorder import Recorder
from feedkeep.runtime.tasks import end
from feedkeep.store.base import Store

LOOKS_A_SECOND = 4.0
"""How many looks begin in a second at most: 345,000 feeds a day."""

LEASE_US = feed_schedule.LEASE_US
_NEEDED_US = 3 * MINUTE_US
"""What a lease has to last when a look begins; a look takes two minutes at most."""

_AHEAD = 8
"""How many feeds wait here in each lane, besides one for each slot; the others wait in the store.

So a feed that was just added waits for a few others at most, and a look begins while its lease
lasts.
"""

_OF_A_HOST = 4
"""How many of these may be feeds of one host; with more, other hosts would have no turn.

Those that were just added are put off until the host can be asked for them
(`rules.fetch_order.HostQueues`).
"""

_JUST_ADDED = {Lane.NEW, Lane.PUT_OFF}

_LONGEST_WAIT_SECONDS = 30.0
_WAIT_FOR_OTHERS_SECONDS = 1.0
_FULL_WAIT_SECONDS = 1.0
_SHORTEST_WAIT_SECONDS = 0.2
_SECONDS_AFTER_A_FAILURE = 60.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Looks(Protocol):
    """What looks at feeds."""

    async def look(self, feed: Feed, now: Stamp) -> FetchResult:
        """Return what is at the URL of a feed now.

        Raises:
            MachineFailed: This machine could not look; nothing is known of the feed by that.
        """

    async def close(self) -> None:
        """End what is under way."""


@dataclass(eq=False)
class _Leased:
    """A feed that waits here, or that is looked at."""

    feed: Feed
    until: Stamp
    host: str
    lane: Lane
    rank: int
    waits: bool = True
    task: asyncio.Task[None] | None = None


class FetchScheduler:
    """Looks at the feeds of all lists."""

    def __init__(
        self,
        store: Store,
        sweep: SubscriptionSweep,
        looks: Looks,
        now: Now,
        fetch: Fetch,
        at_once: int,
        recorder: Recorder | None = None,
        *,
        is_for_others: bool = False,
    ) -> None:
        """Look at up to `at_once` feeds at a time; which ones, `fetch` says.

        One that `is_for_others` looks at what other processes note (`noting_new`), which cannot
        tell it so: it asks the store more often. `recorder` counts looks, if it is given.
        """
        self._recorder = recorder
        self._longest_wait = _WAIT_FOR_OTHERS_SECONDS if is_for_others else _LONGEST_WAIT_SECONDS
        self._store = store
        self._sweep = sweep
        self._looks = looks
        self._now = now
        self._fetch = fetch
        self._at_once = at_once
        self._slots = Slots(at_once, LOOKS_A_SECOND)
        self._queues = HostQueues()
        self._budgets = FetchBudgets()
        self._here: set[_Leased] = set()
        self._leases: set[tuple[Guid, Stamp]] = set()
        self._leasing: asyncio.Task[Sequence[Feed]] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Begin, unless nothing is to be looked at."""
        if self._fetch is not Fetch.OFF:
            for work in (self._sweep.note_new, self._sweep.go_round, self._look_at_all):
                self._begin(_again(work))
        return self

    async def __aexit__(self, *_: object) -> None:
        """End; what was not looked at can be leased again at once."""
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
        until = later(now, LEASE_US)
        are_more = is_full = False
        # Feeds that were just added and feeds that are due are leased separately, so that many of
        # one kind keep none of the other out of its lane.
        new, due = (Stamp(0), Stamp(FIRST_DUE - 1)), (FIRST_DUE, now)
        for lane, between in ((Lane.NEW, new), (Lane.QUICK, due)):
            room = self._room(lane)
            if room < _AHEAD // 2:
                is_full = True
                continue
            # A scheduler that ends meanwhile waits for what is leased, to release it.
            self._leasing = asyncio.create_task(self._lease(now, until, room, between))
            leased = await asyncio.shield(self._leasing)
            for feed in leased:
                await self._hand_on(feed, until)
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
        """Wait until a feed is due, or there is news here; other processes tell none.

        Where a lane is full, feeds that have long been due wait in the store for room in it, so the
        store cannot say when the first feed of another lane is due.
        """
        due = None if is_full else await self._store.feeds.next_fetch()
        seconds = _FULL_WAIT_SECONDS if is_full else self._longest_wait
        if due is not None:
            seconds = min(max((due - now) / SECOND_US, _SHORTEST_WAIT_SECONDS), seconds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._sweep.is_news.wait()

    async def _hand_on(self, feed: Feed, until: Stamp) -> None:
        """Let a leased feed wait for its turn at its host."""
        may = may_look_at(feed.url, self._fetch, is_permitted=feed.is_permitted)
        if not may or not is_wanted(feed, self._now()):
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
        # Of those that were just added, the last one gives way.
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
        """Return for how many microseconds to put off a feed for which there is no room now."""
        if one.lane not in _JUST_ADDED:
            return minutes_put_off(one.feed, _chance()) * MINUTE_US
        now = self._now()
        ahead = self._sweep.turns.ahead_of(one.feed)
        return self._queues.due(one.host, one.feed, now, ahead) - now

    def _rest_us(self, feed: Feed) -> int:
        """Return for how long not to fetch a feed, somewhat more for some of its like."""
        now = self._now()
        rest_us = self._queues.rest_us(host_of(feed.url), now)
        rest_us = max(rest_us, self._budgets.rest_us(feed, now))
        return int(rest_us * (1 + _chance() / 10)) if rest_us else 0

    async def _put_off(self, feed: Feed, until: Stamp, us: int) -> None:
        self._budgets.postpone(feed)
        put_off = replace(feed, next_fetch=later(self._now(), us))
        await self._store.feeds.save(put_off, until, None, feed.next_fetch)
        self._leases.discard((feed.guid, until))

    async def _wait_and_look(self, one: _Leased) -> None:
        try:
            await self._look_at(one)
        except MachineFailed:  # what looks has logged it, once
            self._begin(self._release_later(one))
        except Exception as error:  # noqa: BLE001 - others wait; and its lease ends by itself
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
            if now > later(until, -_NEEDED_US):
                await self._store.feeds.release([feed.guid], until)
                return
            # Another feed of its host, or of its account, was fetched meanwhile.
            if rest_us := self._rest_us(feed):
                await self._put_off(feed, until, rest_us)
                return
            began = time.monotonic()
            looked = await self._looks.look(feed, now)
            looked = replace(looked, seconds=time.monotonic() - began)
        self._budgets.charge(feed, looked.received_bytes, now)
        seconds = looked.seconds + 1 / LOOKS_A_SECOND
        self._queues.fetched(one.host, int(seconds * SECOND_US))
        if looked.failure is not None and looked.retry_after_seconds:
            self._queues.leave_alone(one.host, looked.retry_after_seconds * SECOND_US, now)
        after = after_look(feed, looked, now, _chance())
        if self._recorder:
            self._recorder.fetch(_result(looked, after), looked.seconds)
        await self._store.feeds.save(after, until, looked.picture, feed.next_fetch)

    async def _release_later(self, one: _Leased) -> None:
        """Keep the lease of a feed for a minute; then let it be looked at in its turn as before.

        At most `LOOKS_A_SECOND` begin to wait here. If the store is away then, the lease expires.
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
    """Note within this context which feeds are new, for a process that looks at them.

    Where several processes serve one file, one of them looks at feeds: each by itself would ask a
    host for several at a time.
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
            _log.warning("feed scheduler failed; will retry", reason=repr(error))
            await asyncio.sleep(_SECONDS_AFTER_A_FAILURE)
