"""What a feed's page tells of what is known of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from feedkeep.model import Failure, Feed, FeedContent, Fetch, Guid, Stamp, Subscription, Value
from feedkeep.rules.duplicates import Pair, pair_of
from feedkeep.rules.feed_labels import NO_LABELS, Labels
from feedkeep.rules.feed_names import (
    Headline,
    Trouble,
    address_of,
    headline_of,
    moved_to,
    name_of,
    possible_duplicates,
    trouble_of,
    web_url,
)
from feedkeep.rules.moves import found_by_https
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.text_limits import MAX_DESCRIPTION, MAX_LANGUAGE, MAX_TITLE, line_of


class NotFetched(StrEnum):
    """Why a feed was never fetched."""

    OFF = "off"
    """Nothing is fetched here."""
    PERSONAL = "personal"
    """Its address looks like its owner's own, and that is left out here."""
    UNSUBSCRIBED = "unsubscribed"
    """Only feeds with a subscriber are fetched."""
    SOON = "soon"
    """It is new."""


class About(Value, frozen=True):
    """What a feed says of itself, and what was fetched of it.

    Attributes:
        description: In one paragraph; "" if it has none.
        site_url: The address of its web site, which may become a link; "" if it has none.
        language: Such as "de-AT"; "" if it does not say.
        author: Who makes it; "" if it does not say.
        not_fetched: Why it was never fetched; None if it was.
        looked: When it was last asked.
        answered: When it was last read.
        newest: When its newest episode was published; None if that is not known.
        picture_host: Where its picture came from; "" if none was fetched.
        picture_looked: When that was.
        trouble: That it cannot be read.
        moved_to: The URL where it says that it is now; "" if it says nothing of that.
        page_feeds: The feeds that the web page at its address names.
        is_page: Whether there is a page at its address, and no feed.
        was_read: Whether it was ever read.
        can_permit: Whether it is fetched only if its subscriber permits it.
        by_https: Its address in the list with https, if it was found there; otherwise "".
    """

    description: str = ""
    site_url: str = ""
    language: str = ""
    author: str = ""
    not_fetched: NotFetched | None = None
    looked: Stamp | None = None
    answered: Stamp | None = None
    newest: Stamp | None = None
    picture_host: str = ""
    picture_looked: Stamp | None = None
    trouble: Trouble | None = None
    moved_to: str = ""
    page_feeds: Sequence[str] = ()
    is_page: bool = False
    was_read: bool = False
    can_permit: bool = False
    by_https: str = ""


class Twin(Value, frozen=True):
    """A feed of the list that may be the same as another one.

    Attributes:
        guid: The guid of the one to keep, whose address both have after they are merged.
        url: The address of the one that is merged into it.
        other: The guid of the one that the page is not about.
        name: What that one is called.
        address: Its address.
        is_kept: Whether it is the one to keep.
    """

    guid: Guid
    url: str
    other: Guid
    name: str
    address: str
    is_kept: bool


def about(subscription: Subscription, feed: Feed | None, fetch: Fetch, now: Stamp) -> About:
    """Return what a page tells of a feed."""
    is_permitted = feed is not None and feed.is_permitted
    may = may_look_at(subscription.feed_url, fetch, is_permitted=is_permitted)
    can_permit = subscription.is_subscribed and fetch is Fetch.PUBLIC and not may
    if feed is None or feed.looked is None:
        not_fetched = _not_fetched(subscription, fetch, may=may)
        return About(not_fetched=not_fetched, can_permit=can_permit)
    content, moved = feed.content or FeedContent(), moved_to(feed)
    return About(
        description=line_of(content.description, MAX_DESCRIPTION),
        site_url=web_url(content.site_url),
        language=line_of(content.language, MAX_LANGUAGE),
        author=line_of(content.author, MAX_TITLE),
        looked=feed.looked,
        answered=feed.answered,
        newest=content.newest,
        picture_host=address_of(feed.picture_url).host,
        picture_looked=feed.picture_looked,
        trouble=trouble_of(headline_of(feed), now) if subscription.is_subscribed else None,
        moved_to=moved.text if moved else "",
        page_feeds=() if feed.content else [url for url in feed.page_feeds if web_url(url)],
        is_page=feed.failure is Failure.NOT_A_FEED,
        was_read=feed.answered is not None,
        can_permit=can_permit,
        by_https=found_by_https(subscription.feed_url, feed),
    )


def twins(
    subscription: Subscription,
    feeds: Iterable[Subscription],
    known: Mapping[str, Headline],
    apart: Collection[Pair],
    labels: Labels = NO_LABELS,
) -> Sequence[Twin]:
    """Return which feeds of a list may be the same as one of it, and are not kept `apart`."""
    live = {feed.guid: feed for feed in feeds}
    for group in possible_duplicates(live.values(), known, apart):
        if subscription.guid in group:
            keep, *others = (
                live[guid] for guid in group if pair_of(subscription.guid, guid) not in apart
            )
            if keep.guid == subscription.guid:
                return [_twin(keep, other, other, known, labels) for other in others]
            return [_twin(keep, subscription, keep, known, labels)]
    return ()


def _twin(
    keep: Subscription,
    merged: Subscription,
    other: Subscription,
    known: Mapping[str, Headline],
    labels: Labels,
) -> Twin:
    headline = known.get(other.feed_url)
    title = labels.title(other.feed_url, headline.title if headline else "")
    name = name_of(other.feed_url, title)
    return Twin(keep.guid, merged.feed_url, other.guid, name, other.feed_url, other is keep)


def _not_fetched(subscription: Subscription, fetch: Fetch, *, may: bool) -> NotFetched:
    if fetch is Fetch.OFF:
        return NotFetched.OFF
    if not may:
        return NotFetched.PERSONAL
    return NotFetched.SOON if subscription.is_subscribed else NotFetched.UNSUBSCRIBED
