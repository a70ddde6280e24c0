"""The JSON that only gpodder.net's API has: devices, podcasts and updates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from feedkeep.rules.feed_names import Card


class DeviceReply(Struct):
    """A device, and how many subscriptions it has: those of the account."""

    id: str
    caption: str
    type: str
    subscriptions: int


class PodcastReply(Struct):
    """A podcast; what nobody has read of it yet is empty, and its title is its URL."""

    url: str
    title: str
    description: str = ""
    subscribers: int = 0
    logo_url: str | None = None
    website: str = ""
    mygpo_link: str = ""
    author: str = ""


class UpdatesReply(Struct):
    """The reply to GET /api/2/updates/{user}/{device}.json."""

    add: list[PodcastReply]
    rem: Sequence[str]
    remove: Sequence[str]
    updates: list[str]
    timestamp: int


def podcast_reply(url: str, card: Card | None) -> PodcastReply:
    """Return a podcast with what is known of it.

    Its logo is where the feed says: an app has no session for our pictures, and asks that host for
    the episodes anyway.
    """
    if card is None:
        return PodcastReply(url, url)
    return PodcastReply(
        url,
        card.title or url,
        description=card.description,
        logo_url=card.picture_url or None,
        website=card.site_url,
        author=card.author,
    )
