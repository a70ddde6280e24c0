"""Evidence and proof that a feed has moved. Pure.

A redirect proves little: the networks of hotels, expired domains and broken databases redirect
whole lists. So a move is made only after the feed was seen on three days, over at least 72 hours,
to redirect permanently to the same feed.
"""

from __future__ import annotations

from contextlib import suppress

from feedkeep.model import Failure, Feed, FeedContent, FetchResult, Guid, Sighting, Stamp, replace
from feedkeep.model.errors import FeedkeepError
from feedkeep.rules.clock import DAY_US, day_of, shift
from feedkeep.rules.feed_urls import (
    FeedUrl,
    authority_of,
    is_safer,
    parse_feed_url,
    parse_new_feed_url,
)

DAYS = 3
"""Number of days on which a move must be seen."""

AT_LEAST_US = 3 * DAY_US
"""Minimum time between the first and the last sighting of a move."""

DEAD_US = 14 * DAY_US
"""Time for which an old URL must be dead before apps are sent its removal."""

SAY_DEAD = {Failure.NO_SUCH_HOST, Failure.NOT_FOUND, Failure.GONE}
"""Failures by which a host or the DNS says that there is nothing at a URL."""

_EQUAL_ITEMS = 3


def is_same_feed(known: FeedContent, found: FeedContent) -> bool:
    """Whether two contents are of the same feed.

    Both have the same `podcast:guid`, or the same title and three items in common: a new host may
    set its own guid.
    """
    if known.podcast_guid and known.podcast_guid == found.podcast_guid:
        return True
    return _is_called_alike(known, found) and _in_common(known, found) >= _EQUAL_ITEMS


def is_another_feed(known: FeedContent, found: FeedContent) -> bool:
    """Whether two contents are clearly not of the same feed.

    Where neither this nor `is_same_feed` is true, the feed is read but moves no list: it has fewer
    than three items, or has another title now.
    """
    if is_same_feed(known, found) or _in_common(known, found) >= _EQUAL_ITEMS:
        return False
    are_few = min(len(known.items), len(found.items)) < _EQUAL_ITEMS
    return not (are_few and _is_called_alike(known, found))


def _is_called_alike(known: FeedContent, found: FeedContent) -> bool:
    return bool(known.title) and known.title == found.title


def _in_common(known: FeedContent, found: FeedContent) -> int:
    return len(set(known.items) & set(found.items))


def leads_to(url: str, guid: Guid) -> bool:
    """Whether a text is a feed URL from which a guid is derived."""
    with suppress(FeedkeepError):
        return parse_feed_url(url).guid == guid
    return False


def sighting_after(feed: Feed, looked: FetchResult, now: Stamp) -> Sighting | None:
    """Return the evidence for a move of a feed after a fetch."""
    if looked.failure is not None:
        # The earlier evidence still counts, unless the URL redirected to something else.
        return None if looked.is_redirected else feed.sighting
    moved_feed = looked.moved_feed
    if moved_feed is None or feed.content is None or not feed.is_own:
        return None
    is_move = may_move(feed.url, moved_feed.url) and is_same_feed(feed.content, moved_feed.content)
    if not is_move:
        return None
    before = feed.sighting
    if before is None or before.url != moved_feed.url:
        return Sighting(moved_feed.url, now, now)
    is_new_day = day_of(now) > day_of(before.last)
    return replace(before, last=max(now, before.last), days=before.days + is_new_day)


def may_move(old: str, new: str) -> bool:
    """Whether a move between two URLs is possible, whatever is found there.

    Excluded are moves from a URL with user info to one without, which would be another person's
    view of it; from HTTPS to HTTP; and to a URL with the same derived guid.
    """
    try:
        from_url, to_url = parse_feed_url(old), parse_new_feed_url(new)
    except FeedkeepError:
        return False
    loses_user = "@" in authority_of(from_url.text) and "@" not in authority_of(to_url.text)
    loses_cover = is_safer(from_url.text, to_url.text)
    return from_url.guid != to_url.guid and not loses_user and not loses_cover


def spelling_after(feed: Feed, looked: FetchResult) -> str:
    """Return the URL for the next fetches: HTTPS once the feed was found there.

    That takes only permanent redirects, from HTTP to HTTPS of the same URL, and the same feed as in
    the fetch before.
    """
    there = looked.moved_feed
    if there is None or feed.content is None or not is_safer(there.url, feed.url):
        return feed.url
    with suppress(FeedkeepError):
        is_same_url = parse_new_feed_url(there.url).guid == feed.guid
        if is_same_url and is_same_feed(feed.content, there.content):
            return there.url
    return feed.url


def found_by_https(feed_url: str, feed: Feed) -> str:
    """Return the HTTPS spelling of a URL of a list if the feed was found there, otherwise ""."""
    is_read = feed.is_own and feed.content is not None and feed.failing is None
    return feed.url if is_read and is_safer(feed.url, feed_url) else ""


def proved_move(feed: Feed) -> FeedUrl | None:
    """Return the URL that a feed has moved to, if that is proved."""
    seen = feed.sighting
    if seen is None or seen.days < DAYS or seen.last < shift(seen.first, AT_LEAST_US):
        return None
    return parse_feed_url(seen.url)


def is_dead(former: Feed, present: Feed | None) -> bool:
    """Whether a former URL was dead for longer than `DEAD_US`, so that apps are sent its removal.

    Only explicit answers count, so the last fetch must have given one. Apps are not sent to a
    present URL that cannot be read either, as when the network is down.
    """
    if former.dead is None or former.looked is None or former.failure not in SAY_DEAD:
        return False
    is_there = present is None or present.failing is None
    return is_there and former.looked >= shift(former.dead, DEAD_US)
