"""Read the newest episodes of feeds, and their playing states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from feedkeep.model import AccountId, Episode, EpisodeAction, Guid, Subscription
from feedkeep.rules import episodes
from feedkeep.rules.episode_actions import PLAY, first_url
from feedkeep.rules.episodes import Playing
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service.known_feeds import KnownFeeds
from feedkeep.store.base import Store


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

    async def of_plays(
        self, feeds: Mapping[Guid, Subscription], plays: Iterable[EpisodeAction]
    ) -> Mapping[bytes, Episode]:
        """Return the episodes of plays, by the keys of the plays; unknown episodes are omitted.

        `feeds` has the account's feeds by the podcasts of the plays.
        """
        stored = await self._known_feeds.episodes(feeds.values())
        found = {}
        for play in plays:
            feed = feeds.get(play.podcast_guid)
            known = stored.get(feed.feed_url, ()) if feed else ()
            if episode := episodes.named(known, play.episode, play.episode_guid):
                found[play.key] = episode
        return found
