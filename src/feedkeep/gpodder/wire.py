"""The JSON that only gpodder.net's API has: devices, podcasts and updates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class DeviceReply(Struct):
    """A device, and how many subscriptions it has: those of the account."""

    id: str
    caption: str
    type: str
    subscriptions: int


class PodcastReply(Struct):
    """A podcast; nothing but its URL is known here."""

    url: str
    title: str
    description: str = ""
    subscribers: int = 0
    logo_url: str | None = None
    website: str = ""
    mygpo_link: str = ""


class UpdatesReply(Struct):
    """The reply to GET /api/2/updates/{user}/{device}.json."""

    add: list[PodcastReply]
    rem: Sequence[str]
    remove: Sequence[str]
    updates: list[str]
    timestamp: int
