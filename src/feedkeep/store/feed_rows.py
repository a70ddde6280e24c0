"""What is known of a feed as a row of its table, and back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict, fields

from feedkeep.model import AccountId, Feed, Guid, Picture
from feedkeep.store.rows import Row

WANTED_AGAIN_US = 24 * 60 * 60 * 1_000_000
"""How old it has to be that a feed was wanted, before that is written anew."""

AFTER_LEASE_US = 60 * 1_000_000
"""How soon a feed is looked at once more if it was leased when a newcomer came."""

MAX_ACCOUNTS = 500
"""Through how many accounts one step looks for subscriptions."""

FEED = ("guid", "url", "wanted", "next_fetch", "failing", "known")
"""The columns of a feed that are read."""

PICTURE = ("media_type", "data", "digest")
"""The columns of a picture, except its guid."""

_KNOWN = [field for field in fields(Feed) if field.name not in FEED]
_Known = msgspec.defstruct(
    "_Known", [(field.name, field.type, field.default) for field in _KNOWN], omit_defaults=True
)
_DECODER = msgspec.json.Decoder(_Known)


def feed_of(guid: Guid, row: Row) -> Feed:
    """Return the feed whose `FEED` columns a row has; its guid is given, since stores differ in it.

    Of what another version of this program wrote, fields are left out that this one does not know,
    and those that are missing have their defaults. What cannot be read counts as never looked at,
    as a whole: with an ETag but without the content, a host would only say that nothing changed.
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
    """Return the column `known` of a feed: what has no column of its own, as JSON.

    None if it was never looked at, and nobody has permitted that.
    """
    if feed.looked is None and not feed.is_permitted:
        return None
    known = _Known(*(getattr(feed, field.name) for field in _KNOWN))
    return msgspec.json.encode(known).decode()


def picture_of(row: Row) -> Picture:
    """Return the picture whose `PICTURE` columns a row has."""
    media_type, data, digest = row
    return Picture(media_type, data, digest=digest)


def picture_row(picture: Picture) -> Row:
    """Return the `PICTURE` columns of a picture."""
    return (picture.media_type, picture.data, picture.digest)


def next_accounts(
    counts: Sequence[tuple[AccountId, int]], limit: int
) -> Sequence[tuple[AccountId, int]]:
    """Return the first accounts that have up to `limit` subscriptions together, at least one.

    `counts` has accounts by rising id, with the number of their subscriptions.
    """
    together = 0
    for taken, (_, count) in enumerate(counts):
        together += count
        if together > limit and taken:
            return counts[:taken]
    return counts
