"""Read stored feed data for display, and queue newly subscribed feeds.

An account is shown only what was fetched since it first had a feed (`rules/seen_feeds.py`). That is
decided only here, so callers have to state the account or its subscriptions.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import TypeAlias

import structlog

from feedkeep.model import (
    AccountId,
    Entry,
    Episode,
    Feed,
    Guid,
    Now,
    Picture,
    Stamp,
    Subscription,
    T,
    Value,
)
from feedkeep.model.errors import InvalidFeedUrl, StoreUnavailable
from feedkeep.rules import seen_feeds
from feedkeep.rules.clock import MINUTE_US, shift
from feedkeep.rules.feed_names import Card, Headline, card_of, headline_of
from feedkeep.rules.feed_schedule import permitted
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.fetch_order import FairTurns
from feedkeep.rules.seen_feeds import is_whole, seen, whole_until
from feedkeep.runtime.cooperative import LONG_LIST, TimeSlice, in_thread_if
from feedkeep.store.base import Store

MAX_NEW = 10_000
"""Capacity of the queue of new feeds; the next sweep finds the rest."""

MAX_REMEMBERED = 20_000
"""Size of the headline cache, in feeds (30 MB)."""

_REMEMBERED_US = 10 * MINUTE_US
_MAX_REMEMBERED_CHARACTERS = 300
_AT_ONCE = 1_000
_VIEWED_AT_ONCE = 64

MAX_WAITING = 100
"""Maximum number of people that wait concurrently for the first fetch of a new feed."""

_ASKED_EVERY_SECONDS = 0.1


Had: TypeAlias = Mapping[str, Stamp]
"""Times when an account first had feeds, by URL."""

New: TypeAlias = tuple[AccountId, str, Stamp]
"""An account, the URL of a newly subscribed feed, and the time when it first had the feed."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class KnownFeeds:
    """Reads feed data by subscriptions.

    Args:
        turns: Fetch order, in which permitted feeds wait for the account's turn.
    """

    def __init__(self, store: Store, now: Now, turns: FairTurns) -> None:
        self._store = store
        self._now = now
        self._turns = turns
        self._headlines: dict[str, _Remembered] = {}
        self._waiting: set[AccountId] = set()

    async def headlines(self, feeds: Iterable[Subscription]) -> Mapping[str, Headline]:
        """Return the headlines of an account's feeds, by URL."""
        return await self._headlines_of(seen_feeds.had(feeds))

    async def headlines_at(
        self, account_id: AccountId, urls: Iterable[str]
    ) -> Mapping[str, Headline]:
        """Return the headlines of feeds by current or former URLs in an account's list."""
        return await self._headlines_of(await self._had_at(account_id, urls))

    async def _headlines_of(self, had: Had) -> Mapping[str, Headline]:
        """Return headlines by URL; `had` has the times when the account first had the feeds.

        Feed data is constant between fetches, so headlines are cached for all accounts that see the
        complete data. The cache is short-lived, since new subscribers may cause an earlier fetch.
        """
        now, turn = self._now(), TimeSlice()
        found: dict[str, Headline] = {}
        others: dict[str, Stamp] = {}
        for number, (url, first_had) in enumerate(had.items()):
            if number % _AT_ONCE == 0:
                await turn.yield_if_long()
            known = self._headlines.get(url)
            if known and known.until > now and is_whole(known.whole_until, first_had, now):
                found[url] = known.headline
            else:
                others[url] = first_had
        async for feeds in self._in_parts(others):
            is_long = len(feeds) > LONG_LIST
            found |= await in_thread_if(is_long, _seen_headlines, feeds, others, now)
            self._remember(await in_thread_if(is_long, _to_remember, feeds, now))
        return found

    def forget(self) -> None:
        self._headlines.clear()

    async def cards(self, feeds: Iterable[Subscription]) -> Mapping[str, Card]:
        """Return the data that apps are sent about an account's feeds, by URL.

        Unfetched feeds are omitted.
        """
        return await self.cards_of(seen_feeds.had(feeds))

    async def cards_at(self, account_id: AccountId, urls: Iterable[str]) -> Mapping[str, Card]:
        """Return the cards of feeds by current or former URLs in an account's list."""
        return await self.cards_of(await self._had_at(account_id, urls))

    async def cards_of(self, had: Had) -> Mapping[str, Card]:
        """Return cards by URL; `had` has the times when the account first had the feeds."""
        found: dict[str, Card] = {}
        now = self._now()
        async for feeds in self._in_parts(had):
            found |= await in_thread_if(len(feeds) > LONG_LIST, _seen_cards, feeds, had, now)
        return found

    async def episodes(self, feeds: Iterable[Subscription]) -> Mapping[str, Sequence[Episode]]:
        """Return the newest episodes of an account's feeds, by URL; feeds without are omitted."""
        had, now = seen_feeds.had(feeds), self._now()
        found: dict[str, Sequence[Episode]] = {}
        async for known in self._in_parts(had):
            shown = [(url, feed) for url, feed in _seen_feeds(known, had, now) if feed.content]
            guids = {feed.guid for _, feed in shown if feed.episodes}
            stored = await self._if_there(self._store.feeds.episodes(guids)) if guids else {}
            found |= {url: stored[feed.guid] for url, feed in shown if feed.guid in stored}
        return found

    async def _had_at(self, account_id: AccountId, urls: Iterable[str]) -> Had:
        each = list(dict.fromkeys(urls))
        is_long = len(each) > LONG_LIST
        guids = list({*(await in_thread_if(is_long, _guids_of, each)).values()})
        entries: list[Entry] = []
        for start in range(0, len(guids), _VIEWED_AT_ONCE):
            some = guids[start : start + _VIEWED_AT_ONCE]
            views = [self._store.entries.view(account_id, guid) for guid in some]
            for view in await asyncio.gather(*views):
                entries += (view.entry, view.subscription) if view else ()
        return await in_thread_if(is_long, seen_feeds.had_at, each, entries)

    def _remember(self, read: Mapping[str, _Remembered]) -> None:
        for url, known in read.items():
            self._headlines.pop(url, None)
            self._headlines[url] = known
        while len(self._headlines) > MAX_REMEMBERED:
            del self._headlines[next(iter(self._headlines))]

    async def of(self, subscription: Subscription) -> Feed | None:
        """Return the data about a feed that the account is shown, if any."""
        guid = parse_feed_url(subscription.feed_url).guid
        feed = (await self._known([guid])).get(guid)
        return seen(feed, subscription.first_had, self._now()) if feed else None

    async def wait_for_first_fetch(
        self, account_id: AccountId, subscription: Subscription, seconds: float
    ) -> Feed | None:
        """Wait up to `seconds` for the first fetch of a feed; return the result of `of`.

        The fetch is independent of the wait and may run in another process, so this polls the
        store. An account waits for one feed at a time.
        """
        if account_id in self._waiting or len(self._waiting) >= MAX_WAITING:
            return await self.of(subscription)
        self._waiting.add(account_id)
        try:
            feed = await self.of(subscription)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while feed is None or feed.looked is None:
                        await asyncio.sleep(_ASKED_EVERY_SECONDS)
                        feed = await self.of(subscription)
        finally:
            self._waiting.remove(account_id)
        return feed

    async def permit(self, account_id: AccountId, subscription: Subscription) -> None:
        """Permit fetching a feed although its URL looks personal.

        Raises:
            StoreUnavailable: Feed data cannot be read or written.
        """
        url, now, feeds = parse_feed_url(subscription.feed_url), self._now(), self._store.feeds
        turn = self._turns.next_of(account_id)
        await feeds.want({url.guid: url.text}, now, {url.guid: turn})
        known = await feeds.known([url.guid])
        # A feed already permitted is fetched when due, however often the button is clicked.
        some = [feed for feed in known.values() if not feed.is_permitted]
        await feeds.renew([permitted(feed, url.text, now, turn) for feed in some])

    async def _in_parts(self, urls: Iterable[str]) -> AsyncIterator[Mapping[str, Feed]]:
        """Yield feed data by URL, in parts; texts that are not feed URLs are skipped.

        A feed may take some kilobytes, so a long list is not loaded at once.
        """
        each = list(urls)
        for start in range(0, len(each), _AT_ONCE):
            some = each[start : start + _AT_ONCE]
            guids = await in_thread_if(len(some) > LONG_LIST, _guids_of, some)
            known = await self._known(set(guids.values()))
            yield {url: known[guid] for url, guid in guids.items() if guid in known}

    async def _known(self, guids: Collection[Guid]) -> Mapping[Guid, Feed]:
        return await self._if_there(self._store.feeds.known(guids))

    async def _if_there(self, reading: Awaitable[Mapping[Guid, T]]) -> Mapping[Guid, T]:
        """Return feed data; nothing while the store cannot read it, since lists work without it."""
        try:
            return await reading
        except StoreUnavailable as error:  # in a cluster, feeds and lists are on different machines
            _log.warning("cannot read feed data; showing lists without it", reason=str(error))
            return {}

    async def picture(self, subscription: Subscription) -> Picture | None:
        """Return the picture of a feed, if the account is shown one."""
        known = await self.headlines([subscription])
        headline = known.get(subscription.feed_url)
        if headline is None or not headline.picture:
            return None
        return await self._store.feeds.picture(headline.guid)


class _Remembered(Value, frozen=True):
    """A cached headline, for accounts that had the feed before `whole_until`."""

    headline: Headline
    whole_until: Stamp
    until: Stamp


def _seen_feeds(known: Mapping[str, Feed], had: Had, now: Stamp) -> Iterator[tuple[str, Feed]]:
    for url, feed in known.items():
        if shown := seen(feed, had[url], now):
            yield url, shown


def _seen_headlines(known: Mapping[str, Feed], had: Had, now: Stamp) -> dict[str, Headline]:
    return {url: headline_of(feed) for url, feed in _seen_feeds(known, had, now)}


def _seen_cards(known: Mapping[str, Feed], had: Had, now: Stamp) -> dict[str, Card]:
    shown = _seen_feeds(known, had, now)
    return {url: card_of(feed.content) for url, feed in shown if feed.content}


def _to_remember(known: Mapping[str, Feed], now: Stamp) -> dict[str, _Remembered]:
    latest = shift(now, _REMEMBERED_US)
    return {
        url: _Remembered(headline_of(feed), whole_until(feed), min(feed.next_fetch, latest))
        for url, feed in known.items()
        if len(url) <= _MAX_REMEMBERED_CHARACTERS
    }


def _guids_of(urls: Sequence[str]) -> dict[str, Guid]:
    guids = {}
    for url in urls:
        with contextlib.suppress(InvalidFeedUrl):
            guids[url] = parse_feed_url(url).guid
    return guids


class NewFeeds:
    """Queue of newly subscribed feeds, until they are recorded for fetching.

    Queueing takes less than a microsecond, so requests do not wait. If the process ends, the next
    sweep finds the feeds.

    Attributes:
        turns: Fetch order of the feeds that accounts add.
    """

    def __init__(self) -> None:
        self.turns = FairTurns()
        self._urls: OrderedDict[AccountId, OrderedDict[str, Stamp]] = OrderedDict()
        self._count = 0
        self._are_there = asyncio.Event()
        self._is_anybody_there = False

    def note(self, account_id: AccountId, entries: Iterable[Entry]) -> None:
        """Queue the subscribed feeds among an account's entries, if there is a consumer.

        An account gets no more of the remaining capacity than it leaves to others.
        """
        if not self._is_anybody_there:
            return
        urls = self._urls.get(account_id, OrderedDict())
        before = len(urls)
        for entry in entries:
            if not isinstance(entry, Subscription) or not entry.is_subscribed:
                continue
            if self._count + 2 * len(urls) - before < MAX_NEW:
                urls[entry.feed_url] = entry.first_had
        if urls:
            self._urls[account_id] = urls
            self._count += len(urls) - before
            self._are_there.set()

    def keep(self) -> None:
        """Start queueing, since there will be a consumer."""
        self._is_anybody_there = True

    async def take(self, at_most: int) -> Sequence[New]:
        """Wait for feeds; take up to `at_most`, one per account in turn."""
        self.keep()
        await self._are_there.wait()
        return self.take_now(at_most)

    def take_now(self, at_most: int) -> Sequence[New]:
        """Like `take`, without waiting; may return none."""
        taken: list[New] = []
        while self._urls and len(taken) < at_most:
            account_id, urls = self._urls.popitem(last=False)
            url, first_had = urls.popitem(last=False)
            taken.append((account_id, url, first_had))
            if urls:
                self._urls[account_id] = urls
        self._count -= len(taken)
        if not self._urls:
            self._are_there.clear()
        return taken
