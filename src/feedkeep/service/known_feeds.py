"""What is known of feeds, for everything that shows them; and which are new here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import structlog

from feedkeep.errors import StoreUnavailable
from feedkeep.model import Entry, Feed, Guid, Picture, Subscription
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.store.base import Store

MAX_NEW = 10_000
"""How many new feeds wait to be noted; further ones are found on the next round."""

_AT_ONCE = 500


_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class KnownFeeds:
    """Reads what is known of feeds, by the subscriptions that name them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, subscriptions: Iterable[Subscription]) -> Mapping[Guid, Feed]:
        """Return what is known of the feeds of subscriptions, by the subscriptions' guids."""
        by_feed = {s.guid: parse_feed_url(s.feed_url).guid for s in subscriptions}
        known = await self.by_guid(list(dict.fromkeys(by_feed.values())))
        return {guid: known[feed] for guid, feed in by_feed.items() if feed in known}

    async def by_guid(self, guids: Sequence[Guid]) -> Mapping[Guid, Feed]:
        """Return what is known of feeds, by the guids derived from their URLs.

        That is nothing while it cannot be read: it decorates a list, which is there without it.
        """
        known: dict[Guid, Feed] = {}
        try:
            for start in range(0, len(guids), _AT_ONCE):
                known |= await self._store.feeds.known(guids[start : start + _AT_ONCE])
        except StoreUnavailable as error:  # on a cluster, feeds are on other machines than the list
            _log.warning("what is known of feeds cannot be read", reason=str(error))
        return known

    async def picture(self, guid: Guid) -> Picture | None:
        """Return the picture of a feed, by the guid derived from its URL."""
        return await self._store.feeds.picture(guid)


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

    async def take(self) -> Sequence[str]:
        """Wait until there are any; return them."""
        self._is_anybody_there = True
        await self._are_there.wait()
        self._are_there.clear()
        urls, self._urls = list(self._urls), {}
        return urls
