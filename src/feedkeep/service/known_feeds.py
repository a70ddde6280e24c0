"""What is known of feeds, for everything that shows them; and which are new here.

An account is shown what was found since it first had a feed (`rules/seen_feeds.py`), which is
decided here alone: a caller that shows a feed says whose it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import structlog

from feedkeep.model import (
    AccountId,
    Entry,
    Feed,
    Guid,
    Now,
    Picture,
    Stamp,
    Subscription,
    Value,
)
from feedkeep.model.errors import InvalidFeedUrl, StoreUnavailable
from feedkeep.rules import seen_feeds
from feedkeep.rules.clock import MINUTE_US, later
from feedkeep.rules.feed_names import Card, Headline, card_of, headline_of
from feedkeep.rules.feed_schedule import permitted
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.fetch_order import FairTurns
from feedkeep.rules.seen_feeds import is_whole, seen, whole_until
from feedkeep.runtime.cooperative import LONG_LIST, TimeSlice, in_thread_if
from feedkeep.store.base import Store

MAX_NEW = 10_000
"""How many new feeds wait to be noted; further ones are found on the next round."""

MAX_REMEMBERED = 20_000
"""Of how many feeds the headlines are remembered: that takes 30 MB."""

_REMEMBERED_US = 10 * MINUTE_US
_MAX_REMEMBERED_CHARACTERS = 300
_AT_ONCE = 1_000
_VIEWED_AT_ONCE = 64

MAX_WAITING = 100
"""How many people wait at the same time for what is found at a feed that they have just added."""

_ASKED_EVERY_SECONDS = 0.1


Had: TypeAlias = Mapping[str, Stamp]
"""When an account first had feeds, by their URLs; None if it has had them always."""

New: TypeAlias = tuple[AccountId, str, Stamp]
"""An account, the URL of a feed that it has just subscribed to, and when it first had that feed."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class KnownFeeds:
    """Reads what is known of feeds, by the subscriptions that name them."""

    def __init__(self, store: Store, now: Now, turns: FairTurns) -> None:
        """Read from `store`; what a subscriber permits is looked at in the account's `turns`."""
        self._store = store
        self._now = now
        self._turns = turns
        self._headlines: dict[str, _Remembered] = {}
        self._waiting: set[AccountId] = set()

    async def headlines(self, feeds: Iterable[Subscription]) -> Mapping[str, Headline]:
        """Return what lists show of the feeds of an account, by their URLs."""
        return await self._headlines_of(seen_feeds.had(feeds))

    async def headlines_at(
        self, account_id: AccountId, urls: Iterable[str]
    ) -> Mapping[str, Headline]:
        """Return the same of feeds that are, or were, at URLs in the list of an account."""
        return await self._headlines_of(await self._had_at(account_id, urls))

    async def _headlines_of(self, had: Had) -> Mapping[str, Headline]:
        """Return what lists show of feeds by their URLs, and when they were had first.

        What is known of a feed stays the same until it is looked at again, so it is remembered
        until then, for all accounts that are shown the whole of it; but not for long, since others
        who come to have it have it looked at earlier.
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
        """Forget what is remembered, so that it is read anew."""
        self._headlines.clear()

    async def cards(self, feeds: Iterable[Subscription]) -> Mapping[str, Card]:
        """Return what lists for apps tell of the feeds of an account, by their URLs.

        Those are left out that were not read.
        """
        return await self.cards_of(seen_feeds.had(feeds))

    async def cards_at(self, account_id: AccountId, urls: Iterable[str]) -> Mapping[str, Card]:
        """Return the cards of feeds that are, or were, at URLs in the list of an account."""
        return await self.cards_of(await self._had_at(account_id, urls))

    async def cards_of(self, had: Had) -> Mapping[str, Card]:
        """Return the cards of feeds by their URLs; `had` says since when the account has each."""
        found: dict[str, Card] = {}
        now = self._now()
        async for feeds in self._in_parts(had):
            found |= await in_thread_if(len(feeds) > LONG_LIST, _seen_cards, feeds, had, now)
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
        """Return all that its account is shown of the feed of a subscription, if anything is."""
        guid = parse_feed_url(subscription.feed_url).guid
        feed = (await self._known([guid])).get(guid)
        return seen(feed, subscription.first_had, self._now()) if feed else None

    async def once_looked_at(
        self, account_id: AccountId, subscription: Subscription, seconds: float
    ) -> Feed | None:
        """Wait until the feed was looked at, or for `seconds`; return what `of` returns then.

        A feed that was just added is looked at in its turn, whether its owner waits or not; so this
        asks the store alone, since that may happen in another process. An account waits for one
        feed at a time.
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
        """Have a feed looked at although its URL looks personal, as a subscriber wants.

        Raises:
            StoreUnavailable: What is known of feeds cannot be read or written now.
        """
        url, now, feeds = parse_feed_url(subscription.feed_url), self._now(), self._store.feeds
        turn = self._turns.next_of(account_id)
        await feeds.want({url.guid: url.text}, now, {url.guid: turn})
        known = await feeds.known([url.guid])
        # One that is permitted is looked at when it is its time, however often that is clicked.
        some = [feed for feed in known.values() if not feed.is_permitted]
        await feeds.renew([permitted(feed, url.text, now, turn) for feed in some])

    async def _in_parts(self, urls: Iterable[str]) -> AsyncIterator[Mapping[str, Feed]]:
        """Yield what is known of feeds, by their URLs; what is no feed URL is passed over.

        All that is known of a feed may be some kilobytes, so not all of a long list is held.
        """
        each = list(urls)
        for start in range(0, len(each), _AT_ONCE):
            some = each[start : start + _AT_ONCE]
            guids = await in_thread_if(len(some) > LONG_LIST, _guids_of, some)
            known = await self._known(set(guids.values()))
            yield {url: known[guid] for url, guid in guids.items() if guid in known}

    async def _known(self, guids: Collection[Guid]) -> Mapping[Guid, Feed]:
        """Return what is known of feeds: nothing, while it cannot be read.

        It decorates a list, which is there without it.
        """
        try:
            return await self._store.feeds.known(guids)
        except StoreUnavailable as error:  # on a cluster, feeds are on other machines than the list
            _log.warning("what is known of feeds cannot be read", reason=str(error))
            return {}

    async def picture(self, subscription: Subscription) -> Picture | None:
        """Return the picture of the feed of a subscription, if its account is shown one."""
        known = await self.headlines([subscription])
        headline = known.get(subscription.feed_url)
        if headline is None or not headline.picture:
            return None
        return await self._store.feeds.picture(headline.guid)


class _Remembered(Value, frozen=True):
    """What lists show of a feed, to accounts that had it before a moment, until the next look."""

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
    latest = later(now, _REMEMBERED_US)
    return {
        url: _Remembered(headline_of(feed), whole_until(feed), min(feed.next_fetch, latest))
        for url, feed in known.items()
        if len(url) <= _MAX_REMEMBERED_CHARACTERS
    }


def _guids_of(urls: Sequence[str]) -> dict[str, Guid]:
    """Return the guid that is derived from each URL."""
    guids = {}
    for url in urls:
        with contextlib.suppress(InvalidFeedUrl):
            guids[url] = parse_feed_url(url).guid
    return guids


class NewFeeds:
    """The URLs of feeds that accounts have just subscribed to, until they are noted for a look.

    A request to subscribe does not wait for it: to note one costs less than a microsecond. What is
    lost with the process is found by the next round through all lists.

    Attributes:
        turns: The order in which feeds that accounts add are looked at.
    """

    def __init__(self) -> None:
        self.turns = FairTurns()
        self._urls: OrderedDict[AccountId, OrderedDict[str, Stamp]] = OrderedDict()
        self._count = 0
        self._are_there = asyncio.Event()
        self._is_anybody_there = False

    def note(self, account_id: AccountId, entries: Iterable[Entry]) -> None:
        """Note the feeds of an account's entries that are subscribed to, if anybody takes them.

        An account takes no more room than it leaves to others.
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
        """Keep what is noted from now on, since it will be taken."""
        self._is_anybody_there = True

    async def take(self, at_most: int) -> Sequence[New]:
        """Wait until there are any; return one of each account, then one of each again."""
        self.keep()
        await self._are_there.wait()
        return self.take_now(at_most)

    def take_now(self, at_most: int) -> Sequence[New]:
        """Do what `take` does, and return none if there are none."""
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
