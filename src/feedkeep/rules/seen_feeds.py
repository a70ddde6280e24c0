"""The part of a feed's data that an account may see: what was found since it had the feed. Pure.

Fetched data is shared by all accounts. If an account saw any of it at once when it adds a feed,
that would reveal that another account here has the feed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress

from feedkeep.model import Entry, Feed, NewSubscriber, Stamp, Subscription, replace
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.clock import DAY_US, MINUTE_US, SKEW_US, shift
from feedkeep.rules.feed_schedule import LEASE_US, UNSEEN
from feedkeep.rules.feed_urls import parse_feed_url

NEVER = Stamp(2**62)
"""`first_had` of a URL that was only sent beside a guid: the account never had its feed."""

_ALWAYS = Stamp(0)
_FAR_OFF_US = DAY_US // 2
"""Longer than any feed that was never fetched waits, unless it was postponed by a day."""


def seen(feed: Feed, first_had: Stamp, now: Stamp) -> Feed | None:
    """Return the data of a feed that an account with this `first_had` may see; None for no data.

    That is the result of fetches since then, as if there had been none before: earlier content is
    shown once it was read again, or the host has answered that it is unchanged. Failures and moves
    count from that time on. A feed that was never fetched reveals nothing. A `first_had` in the
    future counts as always: it comes from a wrong clock, and the account would see nothing until
    then.
    """
    if first_had == NEVER:
        return None
    had = _counted(first_had, now)
    if feed.looked is None or _earliest(feed) > had:
        return feed
    if feed.looked <= had:  # C10.13
        return None
    was_read = feed.answered is not None and feed.answered > had
    moved = feed.sighting
    failed_before = feed.failing is not None and feed.failing <= had
    return replace(
        feed,
        content=feed.content if was_read else None,
        answered=feed.answered if was_read else None,
        changed=_since(feed.changed, had) if was_read else None,
        sighting=replace(moved, first=max(moved.first, had)) if moved and was_read else None,
        picture=feed.picture if was_read else "",
        picture_url=feed.picture_url if was_read else "",
        picture_looked=_since(feed.picture_looked, had) if was_read else None,
        failing=_since(feed.failing, had),  # C10.9
        failures=1 if failed_before else feed.failures,
        dead=_since(feed.dead, had),
        page_feeds=() if failed_before and feed.failure in UNSEEN else feed.page_feeds,
    )


def had(feeds: Iterable[Subscription]) -> dict[str, Stamp]:
    """Return the times at which an account first had the feeds, by their present URLs."""
    return {feed.feed_url: feed.first_had for feed in feeds}


def had_at(urls: Collection[str], entries: Iterable[Entry]) -> dict[str, Stamp]:
    """Return the times at which an account first had the feeds at URLs, from entries of its list.

    URLs that are neither present nor former URLs of these entries are omitted.
    """
    moments: dict[str, Stamp] = {}
    for entry in entries:
        if entry.alias is not None:
            moments[entry.alias.url] = entry.alias.first_had
        if isinstance(entry, Subscription):
            moments[entry.feed_url] = entry.first_had
    found = {url: moments[url] for url in urls if url in moments}
    if len(found) < len(urls):  # the rest may be other spellings, of which an app has one
        by_guid = {parse_feed_url(url).guid: moment for url, moment in moments.items()}
        for url in urls:
            with suppress(InvalidFeedUrl, KeyError):
                found[url] = by_guid[parse_feed_url(url).guid]
    return found


def whole_until(feed: Feed) -> Stamp:
    """Return the time before which an account must have had a feed to see its whole headline.

    The whole headline is the `headline_of` all fetched data. Accounts that had the feed later see
    less.
    """
    if feed.looked is None:
        return _ALWAYS
    return min(feed.looked, _read(feed), feed.failing or feed.looked)


def is_whole(until: Stamp, first_had: Stamp, now: Stamp) -> bool:
    """Whether an account sees a headline that is whole until a time unchanged."""
    return first_had != NEVER and _counted(first_had, now) < until


def new_subscriber(feed: Feed, first_had: Stamp, now: Stamp) -> NewSubscriber | None:
    """Return the time of a fetch for an account that sees nothing of a stored feed (C10.14).

    None if the account sees it. The feed is fetched next, as if it were new, since the order of
    fetches would reveal the difference; for many new subscribers at once, once a minute. A feed
    that was never fetched keeps its time, and is fetched again if that fetch began before; but it
    is fetched next if its time is far off, since the account that added it has spent its bytes.
    """
    had, moment = _counted(first_had, now), feed.next_fetch
    if feed.looked is None and moment > shift(now, _FAR_OFF_US):
        moment = Stamp(0)
    if feed.looked is not None:
        if feed.looked > had:
            return None
        again = shift(feed.looked, MINUTE_US)
        moment = again if again > now else Stamp(0)
    return NewSubscriber(feed.guid, feed.next_fetch, moment, shift(had, LEASE_US))


def _counted(first_had: Stamp, now: Stamp) -> Stamp:
    return _ALWAYS if first_had > shift(now, SKEW_US) else first_had


def _since(moment: Stamp | None, had: Stamp) -> Stamp | None:
    return None if moment is None else max(moment, had)


def _earliest(feed: Feed) -> Stamp:
    """Return the earliest time in the data of a fetched feed."""
    moments = (feed.looked, feed.changed, feed.failing, feed.dead, feed.picture_looked)
    told = [moment for moment in moments if moment is not None]
    told.append(_read(feed))
    if feed.sighting is not None:
        told.append(feed.sighting.first)
    return min(told)


def _read(feed: Feed) -> Stamp:
    """Return the time of the last successful fetch; without content, of the last fetch."""
    if feed.answered is not None:
        return feed.answered
    is_read = feed.content is not None or feed.sighting is not None
    return _ALWAYS if is_read or feed.looked is None else feed.looked
