"""Feeds that a service knows, without anybody having looked at them: tests ask no other host."""

from __future__ import annotations

import hashlib
import struct
import zlib

from feedkeep_process import FeedkeepProcess

from feedkeep.model import Feed, FeedContent, Picture, Stamp
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service import Service

DAY_US = 86_400_000_000


def png(red: int, green: int, blue: int, size: int = 300) -> bytes:
    """Return a picture in one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    lines = (b"\0" + bytes((red, green, blue)) * size) * size
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def picture(data: bytes, media_type: str = "image/png") -> Picture:
    return Picture(media_type, data, hashlib.sha256(data).hexdigest())


async def note(
    service: Service,
    url: str,
    content: FeedContent | None = None,
    shown: Picture | None = None,
    **fields: object,
) -> Feed:
    """Let a service know a feed, as after a look that is not to be repeated soon."""
    feeds, guid, now = service.store.feeds, parse_feed_url(url).guid, service.now()
    await feeds.want({guid: url}, now)
    due = Stamp(now + 400 * DAY_US)  # also those that were noted before
    leased = {feed.guid: feed for feed in await feeds.lease(due, Stamp(due + 1), 1_000)}
    await feeds.give_back([one for one in leased if one != guid], Stamp(due + 1))
    told = {
        "content": content,
        "is_own": content is not None,
        "looked": now,
        "answered": None if content is None else now,
        "next_look": Stamp(now + DAY_US),
        "picture": shown.digest if shown else "",
        **fields,
    }
    feed = Feed(guid, url, leased[guid].wanted, **told)
    assert await feeds.save(feed, Stamp(due + 1), shown)
    return feed


def know(
    process: FeedkeepProcess,
    url: str,
    title: str = "",
    *,
    shown: Picture | None = None,
    fields: dict[str, object] | None = None,
    **content: object,
) -> Feed:
    """Let a service know a feed of a title, with more of its content and its fields."""
    said = FeedContent(title=title, **content) if title else None
    return process.use(lambda service: note(service, url, said, shown, **(fields or {})))
