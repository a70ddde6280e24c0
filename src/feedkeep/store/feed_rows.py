"""Conversion of feeds to rows of their table, and back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict, fields

from feedkeep.model import AccountId, Episode, Feed, Guid, Picture
from feedkeep.store.rows import Row

WANTED_AGAIN_US = 24 * 60 * 60 * 1_000_000
"""Minimum age of a feed's stored time of demand before the time is updated."""

AFTER_LEASE_US = 60 * 1_000_000
"""Delay of the next fetch of a feed that was leased when a new subscriber came."""

MAX_ACCOUNTS = 500
"""Maximum number of accounts whose subscriptions one step reads."""

FEED = ("guid", "url", "wanted", "next_fetch", "failing", "known")
"""The columns of a feed that are read."""

PICTURE = ("media_type", "data", "digest")
"""The columns of a picture, except its guid."""

_KNOWN = [field for field in fields(Feed) if field.name not in FEED]
_Known = msgspec.defstruct(
    "_Known", [(field.name, field.type, field.default) for field in _KNOWN], omit_defaults=True
)
_DECODER = msgspec.json.Decoder(_Known)
_EPISODES = msgspec.json.Decoder(tuple[Episode, ...])


def feed_of(guid: Guid, row: Row) -> Feed:
    """Return the feed of a row of `FEED` columns; databases differ in the form of its guid.

    Unknown fields, which another version wrote, are ignored, and missing fields have defaults. An
    unreadable column counts as never fetched, as a whole: with an ETag but without the content, a
    host would only answer that nothing changed.
    """
    _, url, wanted, next_fetch, failing, known = row
    never_looked_at = Feed(guid, url, wanted, next_fetch)
    if known is None:
        return never_looked_at
    try:
        found = _DECODER.decode(known)
    except msgspec.DecodeError:
        return never_looked_at
    return Feed(guid, url, wanted, next_fetch, failing=failing, **asdict(found))


def known_column(feed: Feed) -> str | None:
    """Return the column `known` of a feed: fields without a column of their own, as JSON.

    None if the feed was never fetched, and fetching it was not explicitly permitted.
    """
    if feed.looked is None and not feed.is_permitted:
        return None
    known = _Known(*(getattr(feed, field.name) for field in _KNOWN))
    return msgspec.json.encode(known).decode()


def picture_of(row: Row) -> Picture:
    media_type, data, digest = row
    return Picture(media_type, data, digest=digest)


def picture_row(picture: Picture) -> Row:
    return (picture.media_type, picture.data, picture.digest)


def episodes_of(column: str) -> tuple[Episode, ...]:
    """Return the episodes of the column `episodes`; none if it is unreadable.

    Unknown fields, which another version wrote, are ignored, and missing fields have defaults.
    """
    try:
        return _EPISODES.decode(column)
    except msgspec.DecodeError:
        return ()


def episodes_column(episodes: Sequence[Episode]) -> str:
    return msgspec.json.encode(episodes).decode()


def next_accounts(
    counts: Sequence[tuple[AccountId, int]], limit: int
) -> Sequence[tuple[AccountId, int]]:
    """Return the first accounts with up to `limit` subscriptions in total, at least one account.

    `counts` has accounts by rising id, with the number of their subscriptions.
    """
    together = 0
    for taken, (_, count) in enumerate(counts):
        together += count
        if together > limit and taken:
            return counts[:taken]
    return counts
