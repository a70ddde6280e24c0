"""Feeds with stored data that were never fetched: tests send no requests to other hosts."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from functools import partial

from feedkeep_process import FeedkeepProcess

from feedkeep.model import (
    AccountId,
    Author,
    CredentialKind,
    Decision,
    Episode,
    Feed,
    FeedContent,
    NewestEpisodes,
    Picture,
    Snapshot,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Wanted
from feedkeep.service import Service

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


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
    episodes: Sequence[Episode] = (),
    **fields: object,
) -> Feed:
    """Store a feed, as after a fetch that is not due again soon.

    The time of the fetch is an hour ahead, which is after any account first had the feed.
    """
    feeds, guid, now = service.store.feeds, parse_feed_url(url).guid, service.now()
    await feeds.want({guid: url}, now)
    looked = Stamp(now + HOUR_US)
    if content and episodes:
        first = episodes[0]
        content = replace(content, newest=first.published, newest_title=first.title)
    due = Stamp(now + 400 * DAY_US)  # also those that were noted before
    leased = {feed.guid: feed for feed in await feeds.lease(due, Stamp(due + 1), 1_000)}
    await feeds.release([one for one in leased if one != guid], Stamp(due + 1))
    told = {
        "content": content,
        "is_own": content is not None,
        "looked": looked,
        "answered": None if content is None else looked,
        "next_fetch": Stamp(now + DAY_US),
        "picture": shown.digest if shown else "",
        "episodes": "10 digest" if episodes else "",
        **fields,
    }
    feed = Feed(guid, url, leased[guid].wanted, **told)
    newest = NewestEpisodes(feed.episodes, tuple(episodes))
    assert await feeds.save(feed, Stamp(due + 1), shown, None, newest)
    return feed


async def had_always(service: Service, url: str) -> None:
    """Make a feed part of its subscribers' lists since before any fetch."""
    guid, store, last = parse_feed_url(url).guid, service.store, AccountId(0)
    while last is not None:
        last, listed = await store.feeds.subscribed(last, 1_000)
        for account_id, feed in listed:
            if parse_feed_url(feed.feed_url).guid == guid and feed.first_had:
                await store.entries.change(account_id, [feed.guid], partial(_with_no_first, feed))


def _with_no_first(feed: Subscription, snapshot: Snapshot) -> Decision[None]:
    draft = Draft(snapshot)
    draft.put(replace(feed, first_had=Stamp(0)))
    return draft.decision(None)


def know(
    process: FeedkeepProcess,
    url: str,
    title: str = "",
    *,
    shown: Picture | None = None,
    episodes: Sequence[Episode] = (),
    fields: dict[str, object] | None = None,
    **content: object,
) -> Feed:
    """Store a feed with its title, its episodes, and further content and fields.

    With `fields`, which may be of long ago, its subscribers have had it always.
    """
    said = FeedContent(title=title, **content) if title else None

    async def learn(service: Service) -> Feed:
        if fields:
            await had_always(service, url)
        return await note(service, url, said, shown, episodes, **(fields or {}))

    return process.use(learn)


def subscribe_unchecked(process: FeedkeepProcess, name: str, *urls: str) -> None:
    """Subscribe an account to stored URLs that are no longer accepted."""
    items = [Wanted(url, parse_feed_url(url), None) for url in urls]

    async def subscribe(service: Service) -> None:
        account = await service.accounts.named(name)
        await service.subscriptions.add(account.id, items, Author(CredentialKind.COMMAND))

    process.use(subscribe)
