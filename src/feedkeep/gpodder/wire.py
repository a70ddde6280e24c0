"""JSON that only gpodder.net's API has: devices, podcasts and updates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import parse_feed_url


class DeviceReply(Struct):
    """A device, with the number of subscriptions of the account."""

    id: str
    caption: str
    type: str
    subscriptions: int


class PodcastReply(Struct):
    """A podcast; before its first fetch, most fields are empty and the title is the URL.

    The URL has two names, since hullcaster reads `feed`, as in oPodSync. Subscribers are not
    counted, since no list is public, but libmygpo-qt needs both numbers.
    """

    url: str
    feed: str
    title: str
    website: str
    mygpo_link: str
    description: str = ""
    subscribers: int = 0
    subscribers_last_week: int = 0
    logo_url: str | None = None
    author: str = ""


class EpisodeReply(Struct):
    """A favorite episode; its title is its URL, since feedkeep stores nothing else about it."""

    title: str
    url: str
    podcast_title: str
    podcast_url: str
    website: str
    mygpo_link: str
    description: str = ""
    released: str = ""


class UpdatesReply(Struct):
    """The reply to GET /api/2/updates/{user}/{device}.json."""

    add: list[PodcastReply]
    rem: Sequence[str]
    remove: Sequence[str]
    updates: list[str]
    timestamp: int


def podcast_reply(url: str, card: Card | None, base_url: str) -> PodcastReply:
    """Return a podcast; `base_url` is the base of links to pages.

    The logo's URL is the feed's: apps have no session for our copy, and contact that host for
    episodes anyway. mygpoclient-rs rejects an empty `website` and `mygpo_link`; without a web site,
    the feed's URL stands in.
    """
    page = page_of(url, base_url)
    if card is None:
        return PodcastReply(url, url, url, url, page)
    return PodcastReply(
        url,
        url,
        card.title or url,
        card.site_url or url,
        page,
        description=card.description,
        logo_url=card.picture_url or None,
        author=card.author,
    )


def episode_reply(podcast: str, episode: str, card: Card | None, base_url: str) -> EpisodeReply:
    title = card.title if card else ""
    site_url = card.site_url if card else ""
    page = page_of(podcast, base_url)
    return EpisodeReply(episode, episode, title or podcast, podcast, site_url or podcast, page)


def page_of(url: str, base_url: str) -> str:
    """Return the URL of our page about a feed of the list."""
    return f"{base_url}/feeds/{parse_feed_url(url).guid}"
