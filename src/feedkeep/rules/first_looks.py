"""The feeds behind an address that a person types, before it is added. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from feedkeep.model import Failure, FetchResult, Value
from feedkeep.model.errors import InvalidFeedUrl, Sentence
from feedkeep.rules.feed_names import NO_FEED, WHY
from feedkeep.rules.feed_urls import guid_of, host_of, parse_new_feed_url
from feedkeep.rules.text_limits import MAX_TITLE, line_of

_DIRECTORIES = {
    "podcasts.apple.com": Sentence(
        "Apple Podcasts does not name the feed of this podcast. Look for “RSS” on the podcast's own"
        " website, or search for the podcast in your app, and subscribe there."
    ),
    "open.spotify.com": Sentence(
        "Spotify does not name the feeds of podcasts. Look for “RSS” on the podcast's own website,"
        " or search for the podcast in your app, and subscribe there. If only Spotify has it, no"
        " other app can play it."
    ),
}
_PAGE = Sentence("This page does not link to a feed.")
_ON_THE_PAGE = Sentence(
    "Look for “RSS” or “Subscribe” on that page, and copy the address of that link."
)


class FoundFeed(Value, frozen=True):
    """A feed behind an address.

    Attributes:
        title: One line; "" if the feed was not read.
        has_enclosures: Whether it is known to have media files, as podcasts have.
    """

    url: str
    title: str = ""
    has_enclosures: bool = False


class FoundFeeds(Value, frozen=True):
    """The feeds to subscribe to in place of an address.

    Attributes:
        feeds: Feeds to choose from, podcasts first; the only one needs no question.
        why: Reason why no feed was found; None if there are feeds.
        advice: What to do instead; None if the reason says it all.
    """

    feeds: Sequence[FoundFeed] = ()
    why: Sentence | None = None
    advice: Sentence | None = None


def feeds_behind(
    url: str, looked: FetchResult, named: Mapping[str, FetchResult]
) -> FoundFeeds | None:
    """Return the feeds behind an address; None to subscribe to the address itself.

    `named` has the results of a web page's feeds, as far as they were fetched in time; the rest
    count as feeds. The address itself is added if it is a feed, or may be a feed that cannot be
    read now.
    """
    if looked.failure is None:
        return None
    feeds = _named(url, looked, named)
    podcasts = [feed for feed in feeds if feed.has_enclosures]
    if len(podcasts) == 1 and all(feed.url in named for feed in feeds):
        return FoundFeeds(podcasts)
    if feeds:
        return FoundFeeds([*podcasts, *(feed for feed in feeds if not feed.has_enclosures)])
    if looked.failure in NO_FEED or _directory_of(url) in _DIRECTORIES:
        why = _PAGE if looked.failure is Failure.NOT_A_FEED else WHY[looked.failure]
        return FoundFeeds(why=why, advice=advice(url, looked.failure))
    return None


def advice(url: str, failure: Failure | None) -> Sentence | None:
    """Return the advice on an address without a feed; None if the failure says it all."""
    if failure is None:
        return None
    on_the_page = _ON_THE_PAGE if failure is Failure.NOT_A_FEED else None
    return _DIRECTORIES.get(_directory_of(url), on_the_page)


def _named(url: str, looked: FetchResult, named: Mapping[str, FetchResult]) -> Sequence[FoundFeed]:
    """Return the feeds that a page names, once each, without addresses that have no feed."""
    feeds: dict[str, FoundFeed] = {}
    for one in looked.page_feeds:
        found = named.get(one, FetchResult())
        with suppress(InvalidFeedUrl):
            guid = parse_new_feed_url(one).guid
            if found.failure not in NO_FEED and guid != guid_of(url):
                title = line_of(found.content.title, MAX_TITLE) if found.content else ""
                feeds.setdefault(guid, FoundFeed(one, title, found.has_enclosures))
    return list(feeds.values())


def _directory_of(url: str) -> str:
    return host_of(url).removeprefix("www.")
