"""When to fetch a feed next, and how a fetch changes its record. Pure."""

from __future__ import annotations

from feedkeep.model import Failure, Feed, FeedContent, FetchResult, Stamp, replace
from feedkeep.rules.clock import DAY_US, MINUTE_US, SECOND_US, shift
from feedkeep.rules.feed_urls import is_safer
from feedkeep.rules.moves import (
    SAY_DEAD,
    is_another_feed,
    leads_to,
    sighting_after,
    spelling_after,
)
from feedkeep.rules.personal_urls import looks_personal

HOUR_US = 60 * MINUTE_US
WEEK_US = 7 * DAY_US
MONTH_US = 30 * DAY_US

LEASE_US = 10 * MINUTE_US
"""Lifetime of a fetch lease."""

FORGOTTEN_US = 30 * DAY_US
"""Retention of a feed without subscribers."""

SUBSCRIBER_TTL_US = 2 * DAY_US
"""A feed is fetched for this long after a sweep last found a subscriber; sweeps record daily."""

_SUBSCRIBER_RENEWAL_US = SUBSCRIBER_TTL_US * 3 // 4
"""Shorter, so that a sweep renews a feed before it expires."""

PICTURE_US = 30 * DAY_US
"""Refetch interval of a picture whose URL is unchanged."""

SLOW_SECONDS = 5.0
"""A fetch that takes longer puts the feed into the slow lane."""

_FIRST_RETRY_US = HOUR_US
_EARLIEST = 0.9
"""Lower bound of the factor that spreads intervals; the upper bound is 1.1."""

_CALM_US = 30 * DAY_US
"""The interval grows by a day for each such period without a content change."""

UNSEEN = {
    Failure.NAME_UNANSWERED,
    Failure.NO_CONNECTION,
    Failure.TOO_SLOW,
    Failure.CRASHED,
}
"""Failures that do not show whether the URL still serves anything."""


def has_subscribers(feed: Feed, now: Stamp) -> bool:
    """Whether a subscriber was recorded within `SUBSCRIBER_TTL_US`: the feed may be fetched."""
    return feed.wanted > shift(now, -SUBSCRIBER_TTL_US)


def after_subscription(feed: Feed, url: str, now: Stamp) -> Feed | None:
    """Return the feed's record for a subscription by `url`; None if it stays unchanged.

    A feed that had lost its subscribers becomes due, as does one last fetched in the future by a
    wrong clock. A feed fetched by HTTP switches to HTTPS and drops what HTTP returned, if the URL
    looks personal (HTTP would expose its secret) or HTTP has failed for a week. Otherwise the first
    spelling stays: the host may not serve HTTPS, whatever URL an account claims.
    """
    fails_for_long = feed.failing is not None and feed.failing <= shift(now, -WEEK_US)
    if is_safer(url, feed.url) and (fails_for_long or looks_personal(url)):
        return Feed(feed.guid, url, wanted=now, next_fetch=Stamp(0), is_permitted=feed.is_permitted)
    is_asked_in_future = feed.looked is not None and feed.looked > shift(now, DAY_US)
    if is_asked_in_future or feed.wanted <= shift(now, -_SUBSCRIBER_RENEWAL_US):
        return replace(feed, wanted=now, next_fetch=Stamp(0))
    return None


def permitted(feed: Feed, url: str, now: Stamp, turn: Stamp) -> Feed:
    """Return the feed's record once a subscriber permits fetching a personal-looking URL."""
    return replace(after_subscription(feed, url, now) or feed, is_permitted=True, next_fetch=turn)


def after_fetch(feed: Feed, looked: FetchResult, now: Stamp, chance: float) -> Feed:
    """Return the feed's record after a fetch, with the next fetch scheduled.

    `chance`, from 0 to 1, spreads the fetches of feeds that were added together.
    """
    looked = _judged(feed, looked)
    sighting = sighting_after(feed, looked, now)
    if looked.failure is not None:
        after = _after_failure(feed, looked, now)
    else:
        after = _after_answer(feed, looked, now)
    is_slow = looked.seconds > SLOW_SECONDS
    url = spelling_after(feed, looked)
    after = replace(after, url=url, looked=now, sighting=sighting, is_slow=is_slow)
    if looked.picture_tried:
        digest = looked.picture.digest if looked.picture else feed.picture
        tried = looked.picture_tried
        after = replace(after, picture=digest, picture_url=tried, picture_looked=now)
    return replace(after, next_fetch=_next_fetch(after, looked, now, chance))


def wants_picture(feed: Feed, content: FeedContent, now: Stamp) -> bool:
    """Whether the picture's URL is new or a refetch is due: daily until one was stored."""
    if not content.picture_url:
        return False
    us = PICTURE_US if feed.picture else DAY_US
    is_old = feed.picture_looked is None or feed.picture_looked < shift(now, -us)
    return is_old or content.picture_url != feed.picture_url


def _judged(feed: Feed, looked: FetchResult) -> FetchResult:
    """Turn a permanent redirect to a different feed into a failure."""
    found = looked.content
    if not looked.is_redirected or found is None or feed.content is None or not feed.is_own:
        return looked
    is_same_url = looked.moved_feed is not None and leads_to(looked.moved_feed.url, feed.guid)
    if is_same_url or not is_another_feed(feed.content, found):
        return looked
    return replace(
        looked,
        content=None,
        failure=Failure.ANOTHER_FEED,
        reason="The address redirects to another feed.",
    )


def _after_failure(feed: Feed, looked: FetchResult, now: Stamp) -> Feed:
    failure = looked.failure
    dead = feed.dead if failure in UNSEEN else None
    if failure in SAY_DEAD:
        dead = feed.dead or now
    return replace(
        feed,
        failing=feed.failing or now,  # C10.9
        failure=failure,
        reason=looked.reason,
        page_feeds=looked.page_feeds or (feed.page_feeds if failure in UNSEEN else ()),
        failures=feed.failures + _counts(feed, now),
        dead=dead,
    )


def _counts(feed: Feed, now: Stamp) -> bool:
    """Whether one more failure counts: only from the time of the scheduled retry on.

    New subscribers can cause a fetch every minute. If each counted, an outage of some minutes would
    delay the feed by days for all its subscribers.
    """
    by_schedule_us = min(_FIRST_RETRY_US * ((1 << min(feed.failures, 10)) - 1), WEEK_US)
    return now - (feed.failing or now) >= _EARLIEST * by_schedule_us


def _after_answer(feed: Feed, looked: FetchResult, now: Stamp) -> Feed:
    content = looked.content or feed.content
    # A 304 changes what it names, and nothing else of the stored response (RFC 9111, section
    # 4.3.4).
    stored = FetchResult() if looked.content else feed
    return replace(
        feed,
        content=content,
        is_own=feed.is_own or (looked.content is not None and not looked.is_redirected),
        answered=now,  # C10.8
        changed=now if feed.changed is None or _says_other(feed, content) else feed.changed,
        failing=None,
        failure=None,
        reason="",
        page_feeds=(),
        failures=0,
        dead=None,
        etag=looked.etag or stored.etag,
        last_modified=looked.last_modified or stored.last_modified,
        episodes=looked.episodes.validator if looked.episodes else feed.episodes,
    )


def _says_other(feed: Feed, content: FeedContent | None) -> bool:
    """Whether the content changed, apart from dates: some feeds renew these at each request.

    Then any of their items may be the newest.
    """
    before = feed.content
    if before is None or content is None:
        return content is not before
    same = replace(content, newest=before.newest, newest_title=before.newest_title)
    return same != before


def _next_fetch(feed: Feed, looked: FetchResult, now: Stamp, chance: float) -> Stamp:
    if feed.failure is Failure.GONE:
        us = MONTH_US
    elif feed.failure is Failure.TOO_LARGE:
        us = WEEK_US
    elif feed.failure is not None and feed.sighting is None:
        us = min(_FIRST_RETRY_US * 2 ** min(feed.failures - 1, 10), WEEK_US)
    else:
        # A feed that seems to have moved is fetched daily, so that the move can be proved. A change
        # in the future was recorded by a wrong clock, and counts as new.
        calm_us = 0 if feed.sighting else max(0, now - (feed.changed or now))
        us = min((1 + calm_us // _CALM_US) * DAY_US, WEEK_US)
    us = max(us, min(looked.retry_after_seconds * SECOND_US, MONTH_US))
    # spread the fetches
    return shift(now, int(us * (_EARLIEST + 2 * (1 - _EARLIEST) * chance)))
