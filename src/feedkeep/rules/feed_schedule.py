"""When a feed is asked next, and what is known of it after a look. Pure."""

from __future__ import annotations

from feedkeep.model import Failure, Feed, FeedContent, FetchResult, Stamp, replace
from feedkeep.rules.clock import DAY_US, MINUTE_US, SECOND_US, later
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
"""For how long a feed is leased to the process that looks at it."""

FORGOTTEN_US = 30 * DAY_US
"""How long a feed without subscribers is remembered."""

UNWANTED_US = 2 * DAY_US
"""After which a feed without subscribers is not fetched; subscribers are noted each day."""

_WANTED_ANEW_US = UNWANTED_US * 3 // 4
"""Less, so that a feed that was just put off is never taken for one that is still asked."""

PICTURE_US = 30 * DAY_US
"""After which a picture is asked for once more, although its address is the same."""

SLOW_SECONDS = 5.0
"""A look that takes longer was slow: the feed waits among its like next time."""

_FIRST_RETRY_US = HOUR_US
_EARLIEST = 0.9
"""The least part of the time until the next look that passes, so that not all are at once."""

_CALM_US = 30 * DAY_US
"""For each so long that a feed has not changed, a day more passes until it is asked again."""

UNSEEN = {
    Failure.NAME_UNANSWERED,
    Failure.NO_CONNECTION,
    Failure.TOO_SLOW,
    Failure.CRASHED,
}
"""With these, it is unknown whether there is anything at the URL."""


def is_wanted(feed: Feed, now: Stamp) -> bool:
    """Say whether a feed is known to have a subscriber, so that it may be fetched."""
    return feed.wanted > later(now, -UNWANTED_US)


def wanted_again(feed: Feed, url: str, now: Stamp) -> Feed | None:
    """Return what becomes of a known feed that an account wants by a URL; None for no change.

    One without subscribers for long is asked next, and so is one that was asked at a time to come,
    by a clock that was wrong: else its next time would not come. One that is asked by http, and can
    be asked by https now, is asked so from then on; what http has found counts no more. That is so
    where the URL looks personal, whose secret would be seen on the way, and where http has failed
    for a week. Otherwise the first spelling stays: a host may have no https, and a stranger may
    name it so.
    """
    fails_for_long = feed.failing is not None and feed.failing <= later(now, -WEEK_US)
    if is_safer(url, feed.url) and (fails_for_long or looks_personal(url)):
        return Feed(feed.guid, url, wanted=now, next_fetch=Stamp(0), is_permitted=feed.is_permitted)
    is_asked_in_future = feed.looked is not None and feed.looked > later(now, DAY_US)
    if is_asked_in_future or feed.wanted <= later(now, -_WANTED_ANEW_US):
        return replace(feed, wanted=now, next_fetch=Stamp(0))
    return None


def permitted(feed: Feed, url: str, now: Stamp, turn: Stamp) -> Feed:
    """Return what becomes of a known feed once a subscriber has it looked at by a URL."""
    return replace(wanted_again(feed, url, now) or feed, is_permitted=True, next_fetch=turn)


def after_look(feed: Feed, looked: FetchResult, now: Stamp, chance: float) -> Feed:
    """Return what is known of a feed after a look at it, and when it is asked next.

    `chance` is a number from 0 to 1, by which feeds that were added together are asked at
    different times.
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
    """Say whether a feed's picture is to be asked for: it is new, or was asked for long ago."""
    if not content.picture_url:
        return False
    us = PICTURE_US if feed.picture else DAY_US
    is_old = feed.picture_looked is None or feed.picture_looked < later(now, -us)
    return is_old or content.picture_url != feed.picture_url


def _judged(feed: Feed, looked: FetchResult) -> FetchResult:
    """Return a look as it counts: what redirects for good to another feed is no answer."""
    found = looked.content
    if not looked.is_redirected or found is None or feed.content is None or not feed.is_own:
        return looked
    is_same_url = looked.elsewhere is not None and leads_to(looked.elsewhere.url, feed.guid)
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
    """Say whether one more failure counts: not before the schedule would have had it.

    Accounts that come to have a feed have it looked at once a minute. An outage of some minutes
    would else put it off for days, for all that have it.
    """
    by_schedule_us = min(_FIRST_RETRY_US * ((1 << min(feed.failures, 10)) - 1), WEEK_US)
    return now - (feed.failing or now) >= _EARLIEST * by_schedule_us


def _after_answer(feed: Feed, looked: FetchResult, now: Stamp) -> Feed:
    content = looked.content or feed.content
    # A 304 changes what it names, and nothing else of what is stored (RFC 9111, section 4.3.4).
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
    )


def _says_other(feed: Feed, content: FeedContent | None) -> bool:
    """Say whether a feed says something else than before; some date their items anew each time."""
    before = feed.content
    if before is None or content is None:
        return content is not before
    return replace(content, newest=before.newest) != before


def _next_fetch(feed: Feed, looked: FetchResult, now: Stamp, chance: float) -> Stamp:
    if feed.failure is Failure.GONE:
        us = MONTH_US
    elif feed.failure is Failure.TOO_LARGE:
        us = WEEK_US
    elif feed.failure is not None and feed.sighting is None:
        us = min(_FIRST_RETRY_US * 2 ** min(feed.failures - 1, 10), WEEK_US)
    else:
        # A move that is under way is looked at each day, so that it can be proved.
        # A change that lies in the future was noted by a clock that was wrong, and counts as new.
        calm_us = 0 if feed.sighting else max(0, now - (feed.changed or now))
        us = min((1 + calm_us // _CALM_US) * DAY_US, WEEK_US)
    us = max(us, min(looked.retry_after_seconds * SECOND_US, MONTH_US))
    # Somewhat earlier or later, so that not all are asked at once.
    return later(now, int(us * (_EARLIEST + 2 * (1 - _EARLIEST) * chance)))
