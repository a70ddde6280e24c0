"""What is known of feeds, for everything that shows them; and which are new here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from itertools import islice

import structlog

from feedkeep.errors import InvalidFeedUrl, StoreUnavailable
from feedkeep.model import Entry, Feed, Guid, Now, Picture, Stamp, Subscription
from feedkeep.rules.feed_names import Card, Headline, card_of, headline_of
from feedkeep.rules.feed_schedule import permitted
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.store.base import Store
from feedkeep.turns import LONG_LIST, Turn, beside

MAX_NEW = 10_000
"""How many new feeds wait to be noted; further ones are found on the next round."""

MAX_REMEMBERED = 20_000
"""Of how many feeds the headlines are remembered: that takes 30 MB."""

_MAX_REMEMBERED_CHARACTERS = 300
_AT_ONCE = 1_000
_NOTHING = (None, Stamp(0))


_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class KnownFeeds:
    """Reads what is known of feeds, by the subscriptions that name them."""

    def __init__(self, store: Store, now: Now) -> None:
        self._store = store
        self._now = now
        self._headlines: dict[str, tuple[Headline, Stamp]] = {}

    async def headlines(self, urls: Iterable[str]) -> Mapping[str, Headline]:
        """Return what lists show of feeds that are known, by their URLs.

        What is known of a feed stays the same until it is looked at again, so it is remembered
        until then.
        """
        now, turn = self._now(), Turn()
        found: dict[str, Headline] = {}
        others = []
        for number, url in enumerate(urls):
            if number % _AT_ONCE == 0:
                await turn.end_if_long()
            headline, until = self._headlines.get(url, _NOTHING)
            if headline is not None and until > now:
                found[url] = headline
            else:
                others.append(url)
        async for known in self._in_parts(others):
            read = await beside(len(known) > LONG_LIST, _headlines_of, known)
            found |= read
            self._remember(read, known)
        return found

    def forget(self) -> None:
        """Forget what is remembered, so that it is read anew."""
        self._headlines.clear()

    async def cards(self, urls: Iterable[str]) -> Mapping[str, Card]:
        """Return what lists for apps tell of the feeds that were read, by their URLs."""
        found: dict[str, Card] = {}
        async for known in self._in_parts(list(dict.fromkeys(urls))):
            found |= await beside(len(known) > LONG_LIST, _cards_of, known)
        return found

    def _remember(self, read: Mapping[str, Headline], known: Mapping[str, Feed]) -> None:
        for url, headline in read.items():
            if len(url) <= _MAX_REMEMBERED_CHARACTERS:
                self._headlines.pop(url, None)
                self._headlines[url] = (headline, known[url].next_look)
        while len(self._headlines) > MAX_REMEMBERED:
            del self._headlines[next(iter(self._headlines))]

    async def of(self, subscription: Subscription) -> Feed | None:
        """Return all that is known of the feed of a subscription, if anything is."""
        guid = parse_feed_url(subscription.feed_url).guid
        return (await self._known([guid])).get(guid)

    async def permit(self, subscription: Subscription) -> None:
        """Have a feed looked at although its URL looks personal, as a subscriber wants.

        Raises:
            StoreUnavailable: What is known of feeds cannot be read or written now.
        """
        url, now, feeds = parse_feed_url(subscription.feed_url), self._now(), self._store.feeds
        await feeds.want({url.guid: url.text}, now)
        known = await feeds.known([url.guid])
        # One that is permitted is looked at when it is its time, however often that is clicked.
        await feeds.renew(
            [permitted(feed, url.text, now) for feed in known.values() if not feed.is_permitted]
        )

    async def _in_parts(self, urls: Sequence[str]) -> AsyncIterator[Mapping[str, Feed]]:
        """Yield what is known of feeds, by their URLs; what is no feed URL is passed over.

        All that is known of a feed may be some kilobytes, so not all of a long list is held.
        """
        for start in range(0, len(urls), _AT_ONCE):
            some = urls[start : start + _AT_ONCE]
            guids = await beside(len(some) > LONG_LIST, _guids_of, some)
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

    async def picture(self, guid: Guid) -> Picture | None:
        """Return the picture of a feed, by the guid derived from its URL."""
        return await self._store.feeds.picture(guid)


def _headlines_of(known: Mapping[str, Feed]) -> dict[str, Headline]:
    return {url: headline_of(feed) for url, feed in known.items()}


def _cards_of(known: Mapping[str, Feed]) -> dict[str, Card]:
    return {url: card_of(feed.content) for url, feed in known.items() if feed.content}


def _guids_of(urls: Sequence[str]) -> dict[str, Guid]:
    """Return the guid that is derived from each URL."""
    guids = {}
    for url in urls:
        with contextlib.suppress(InvalidFeedUrl):
            guids[url] = parse_feed_url(url).guid
    return guids


class NewFeeds:
    """The URLs of feeds that somebody has just subscribed to, until they are looked at.

    Whoever subscribes does not wait for it: to note one costs less than a microsecond. What is
    lost with the process is found by the next round through all lists.
    """

    def __init__(self) -> None:
        self._urls: dict[str, None] = {}
        self._are_there = asyncio.Event()
        self._is_anybody_there = False

    def note(self, entries: Iterable[Entry]) -> None:
        """Note the feeds of the entries that are subscribed to, if anybody takes them."""
        if not self._is_anybody_there:
            return
        for entry in entries:
            if not isinstance(entry, Subscription) or not entry.is_subscribed:
                continue
            if len(self._urls) < MAX_NEW:
                self._urls[entry.feed_url] = None
        if self._urls:
            self._are_there.set()

    async def take(self, at_most: int) -> Sequence[str]:
        """Wait until there are any; return those that have waited longest."""
        self._is_anybody_there = True
        await self._are_there.wait()
        taken = list(islice(self._urls, at_most))
        for url in taken:
            del self._urls[url]
        if not self._urls:
            self._are_there.clear()
        return taken
