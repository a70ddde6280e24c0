"""Read the newest episodes of feeds, and their playing states."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeAlias

from feedkeep.model import AccountId, Episode, Guid, Subscription
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules import episodes
from feedkeep.rules.episode_actions import PLAY, first_url
from feedkeep.rules.episodes import Playing
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service.known_feeds import KnownFeeds
from feedkeep.store.base import Store

MAX_TITLES = 50
"""Maximum number of podcasts whose episodes are looked up at once; each takes two reads of rows."""

Wanted: TypeAlias = tuple[str, str, str | None]
"""The URL of a podcast, the URL of an episode's file, and the episode's guid, as in an action."""


class Episodes:
    """The newest episodes of the feeds that an account may see (`KnownFeeds`)."""

    def __init__(self, store: Store, known_feeds: KnownFeeds) -> None:
        self._store = store
        self._known_feeds = known_feeds

    async def episodes_of(self, subscription: Subscription) -> Sequence[Episode]:
        """Return the newest episodes of a feed, the newest first."""
        found = await self._known_feeds.episodes([subscription])
        return found.get(subscription.feed_url, ())

    async def playing(
        self, account_id: AccountId, subscription: Subscription, some: Sequence[Episode]
    ) -> Mapping[Episode, Playing]:
        """Return the playing states of a feed's episodes; unplayed episodes are omitted."""
        podcast = parse_feed_url(first_url(subscription)).guid
        keys = {key for one in some for key in episodes.keys_of(podcast, one)}
        actions = await self._store.episode_actions.of_episodes(account_id, podcast, keys)
        plays = [action for action in actions if action.kind == PLAY]
        return episodes.playing(podcast, some, plays)

    async def titles(
        self, account_id: AccountId, wanted: Collection[Wanted]
    ) -> Mapping[Wanted, Episode]:
        """Return the episodes of actions, of at most `MAX_TITLES` podcasts; others are omitted.

        Podcasts may have former URLs: their feeds are found at the present ones.
        """
        guids: dict[str, Guid] = {}
        for url in islice(dict.fromkeys(one[0] for one in wanted), MAX_TITLES):
            with suppress(InvalidFeedUrl):
                guids[url] = parse_feed_url(url).guid
        views = await asyncio.gather(
            *(self._store.entries.view(account_id, guid) for guid in guids.values())
        )
        feeds = {url: view.subscription for url, view in zip(guids, views, strict=True) if view}
        stored = await self._known_feeds.episodes(feeds.values())
        found = {}
        for one in wanted:
            podcast, file, guid = one
            feed = feeds.get(podcast)
            known = stored.get(feed.feed_url, ()) if feed else ()
            if episode := episodes.named(known, file, guid):
                found[one] = episode
        return found
