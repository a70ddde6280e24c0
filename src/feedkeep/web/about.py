"""View of a feed's details and possible duplicates. Pure."""

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
    """Reason why a feed was never fetched."""

    OFF = "off"
    """Fetching is disabled."""
    PERSONAL = "personal"
    """The address looks personal, and such feeds are not fetched."""
    UNSUBSCRIBED = "unsubscribed"
    """Only feeds with a subscriber are fetched."""
    SOON = "soon"
    """The feed is new."""


class About(Value, frozen=True):
    """A feed's details and the state of its fetches. Texts are "" if missing.

    Attributes:
        description: One paragraph.
        site_url: URL of the website, safe to link to.
        language: Language tag such as "de-AT".
        not_fetched: None if it was fetched.
        looked: Time of the last fetch.
        answered: Time of the last successful fetch.
        newest: Publication time of the newest episode; None if unknown.
        picture_looked: Time of the last fetch of the picture.
        trouble: Reading problem; None while the feed is readable.
        moved_to: New URL according to the feed.
        page_feeds: URLs of feeds named by the web page at the feed's address.
        is_page: Whether the address is a web page instead of a feed.
        was_read: Whether a fetch ever succeeded.
        can_permit: Whether it is fetched only if its subscriber permits it.
        by_https: The list's address with https, if the feed was found there.
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


class Duplicate(Value, frozen=True):
    """A possible duplicate of a feed in the list.

    Attributes:
        guid: Guid of the feed to keep, whose address remains after a merge.
        url: Address of the feed to merge into it.
        other: Guid of the duplicate.
        name: Name of the duplicate.
        address: Address of the duplicate.
        is_kept: Whether the duplicate is the feed to keep.
    """

    guid: Guid
    url: str
    other: Guid
    name: str
    address: str
    is_kept: bool


def about(subscription: Subscription, feed: Feed | None, fetch: Fetch, now: Stamp) -> About:
    """Return a feed's details for its page."""
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


def duplicates(
    subscription: Subscription,
    feeds: Iterable[Subscription],
    known: Mapping[str, Headline],
    apart: Collection[Pair],
    labels: Labels = NO_LABELS,
) -> Sequence[Duplicate]:
    """Return possible duplicates of a subscription, without pairs marked as different (`apart`)."""
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
) -> Duplicate:
    headline = known.get(other.feed_url)
    title = labels.title(other.feed_url, headline.title if headline else "")
    name = name_of(other.feed_url, title)
    return Duplicate(keep.guid, merged.feed_url, other.guid, name, other.feed_url, other is keep)


def _not_fetched(subscription: Subscription, fetch: Fetch, *, may: bool) -> NotFetched:
    if fetch is Fetch.OFF:
        return NotFetched.OFF
    if not may:
        return NotFetched.PERSONAL
    return NotFetched.SOON if subscription.is_subscribed else NotFetched.UNSUBSCRIBED
