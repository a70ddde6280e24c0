"""Display names, failure notices and possible duplicates of feeds. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from feedkeep.model import Failure, Feed, FeedContent, Guid, Stamp, Subscription, Value
from feedkeep.model.errors import Sentence
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.duplicates import Pair, likely_name
from feedkeep.rules.feed_urls import FeedUrl, host_of, parse_feed_url
from feedkeep.rules.moves import may_move
from feedkeep.rules.personal_urls import looks_personal
from feedkeep.rules.text_limits import (
    MAX_SHORT_DESCRIPTION,
    MAX_SHORT_TITLE,
    MAX_TITLE,
    line_of,
)

FAILURES_SHOWN = 3
"""Number of consecutive failed fetches after which a failure is shown, even within a day."""

NO_FEED = {Failure.NOT_A_FEED, Failure.NOT_FOUND, Failure.GONE, Failure.NO_SUCH_HOST}

MAX_COPIES = 3
"""Maximum number of feeds of a list with one `podcast:guid`; above it, the guid was copied."""

MAX_ALIKE = 20
"""Maximum number of similar feeds that are compared with each other."""

MAX_ITEMS = 8
"""Number of the newest items compared between feeds with one title."""

_EQUAL_ITEMS = 3
"""Number of items that feeds with one title must share, unless all their items are equal."""

_REMEMBERED = 16_384
_MAX_REMEMBERED_CHARACTERS = 300

WHY: Mapping[Failure, Sentence] = {
    Failure.REFUSED: Sentence("feedkeep does not fetch anything from its address."),
    Failure.NO_SUCH_HOST: Sentence("There is no server of that name."),
    Failure.NAME_UNANSWERED: Sentence("The address of its server could not be found."),
    Failure.NO_CONNECTION: Sentence("Its server cannot be reached."),
    Failure.TLS_FAULT: Sentence("The certificate of its server is not valid."),
    Failure.TOO_SLOW: Sentence("Its server takes too long to answer."),
    Failure.TOO_LARGE: Sentence("It is too large to read."),
    Failure.TOO_MANY_REDIRECTS: Sentence("Its address redirects too many times."),
    Failure.BROKEN_ANSWER: Sentence("feedkeep cannot read what its server sends."),
    Failure.NOT_FOUND: Sentence("Its server says there is nothing at this address."),
    Failure.GONE: Sentence("Its server says that it is gone permanently."),
    Failure.ERROR_STATUS: Sentence("Its server reports an error."),
    Failure.NOT_A_FEED: Sentence("There is a page at its address, but no feed."),
    Failure.ANOTHER_FEED: Sentence("There is another feed at its address now."),
    Failure.CRASHED: Sentence("Its content is invalid."),
}
"""Why a feed cannot be read, as shown to its subscribers."""


class Address(Value, frozen=True):
    """The URL of a feed for display.

    Attributes:
        text: The URL without the protocol.
        host: Its host; "" if there is none to show.
        is_personal: Whether it looks personal, and so is a secret.
        likely_name: The key that similar spellings share.
    """

    text: str
    host: str
    is_personal: bool
    likely_name: str


class Headline(Value, frozen=True):
    """The data of a fetched feed that a list shows.

    Attributes:
        guid: The guid derived from its URL, which also identifies its picture.
        title: Its title; "" if it was never read.
        picture: Digest of its picture; "" if there is none.
        failing: Time of the first failed fetch since the last success; None if it could be read.
        failures: Number of consecutive failed fetches.
        failure: Reason of the last failure.
        podcast_guid: Its `podcast:guid`; "" if missing.
        moved_to: The guid derived from the URL to which it says it moved; None if it says nothing.
        items: Hashes of the ids of its newest items, at most `MAX_ITEMS`.
        newest: Publication time of its newest item; None if unknown.
        newest_title: Title of that item, at most `MAX_SHORT_TITLE` characters; "" if unknown.
        is_looked_at: Whether it was ever fetched, with whatever result.
    """

    guid: Guid
    title: str = ""
    picture: str = ""
    failing: Stamp | None = None
    failures: int = 0
    failure: Failure | None = None
    podcast_guid: str = ""
    moved_to: Guid | None = None
    items: frozenset[str] = frozenset()
    newest: Stamp | None = None
    newest_title: str = ""
    is_looked_at: bool = False


class Card(Value, frozen=True):
    """The data of a feed in lists for apps; "" where it is missing.

    Attributes:
        title: One line of at most `MAX_TITLE` characters.
        description: One line of at most `MAX_SHORT_DESCRIPTION` characters.
        site_url: URL of its web site, which may become a link.
        picture_url: URL of its picture, on any host.
        author: As `title`.
    """

    title: str
    description: str
    site_url: str
    picture_url: str
    author: str


class Trouble(Value, frozen=True):
    """A lasting failure to read a feed.

    Attributes:
        since: Time of the first failure.
        why: The reason, as a sentence.
    """

    since: Stamp
    why: Sentence


def address_of(feed_url: str) -> Address:
    is_short = len(feed_url) <= _MAX_REMEMBERED_CHARACTERS
    return _remembered_address(feed_url) if is_short else _address(feed_url)


def name_of(feed_url: str, title: str = "") -> str:
    """Return the display name of a feed: its title, or else its address.

    Of a personal-looking address, only the host is shown.
    """
    if title:
        return title
    address = address_of(feed_url)
    return address.host if address.is_personal and address.host else address.text


def title_of(feed: Feed | None) -> str:
    """Return the title of a feed as one line without control characters; "" if missing."""
    return "" if feed is None or feed.content is None else line_of(feed.content.title, MAX_TITLE)


def web_url(url: str) -> str:
    """Return the URL of a web page unchanged; "" if it must not become a link (C10.6)."""
    is_web = url.lower().startswith(("http://", "https://")) and url.isprintable()
    return url if is_web and " " not in url else ""


def card_of(content: FeedContent) -> Card:
    """Return the card of a feed in lists for apps."""
    return Card(
        line_of(content.title, MAX_TITLE),
        line_of(content.description, MAX_SHORT_DESCRIPTION),
        web_url(content.site_url),
        web_url(content.picture_url),
        line_of(content.author, MAX_TITLE),
    )


def moved_to(feed: Feed) -> FeedUrl | None:
    """Return the URL to which a feed says it moved, proved or not (C10.10)."""
    told = [feed.sighting.url] if feed.sighting else []
    told += [feed.content.new_feed_url] if feed.content and feed.content.new_feed_url else []
    return next((parse_feed_url(url) for url in told if may_move(feed.url, url)), None)


def headline_of(feed: Feed) -> Headline:
    """Return the data of a feed that a list shows."""
    moved = moved_to(feed)
    return Headline(
        feed.guid,
        title_of(feed),
        feed.picture,
        feed.failing,
        feed.failures,
        feed.failure,
        feed.content.podcast_guid if feed.content else "",
        moved.guid if moved else None,
        frozenset(feed.content.items[:MAX_ITEMS] if feed.content else ()),
        feed.content.newest if feed.content else None,
        line_of(feed.content.newest_title, MAX_SHORT_TITLE) if feed.content else "",
        feed.looked is not None,
    )


def trouble_of(known: Headline | None, now: Stamp) -> Trouble | None:
    """Return the failure of a feed that failed for a day, or for some consecutive fetches.

    A feed that was never read, and is certainly not a feed, is reported at once: its address may be
    wrong.
    """
    if known is None or known.failing is None:
        return None
    is_wrong = not known.title and known.failure in NO_FEED
    lasts = known.failures >= FAILURES_SHOWN or now > shift(known.failing, DAY_US)
    if not lasts and not is_wrong:
        return None
    return Trouble(known.failing, WHY[known.failure or Failure.BROKEN_ANSWER])


def possible_duplicates(
    subscriptions: Iterable[Subscription],
    known: Mapping[str, Headline],
    apart: Collection[Pair] = (),
) -> Sequence[Sequence[Guid]]:
    """Return groups of guids of feeds that may be duplicates of each other.

    Feeds may be duplicates if they have the same `podcast:guid`, if one says that it moved to the
    other's URL, if their URLs are similar, or if they have the same title and items. The first of
    each group is the one to keep, at the newest URL. `known` is by feed URL. A feed with a personal
    address is not taken for the public one. Two feeds marked as different by `apart` do not match
    each other, but both may match a third.
    """
    live = {feed.guid: feed for feed in subscriptions if feed.is_subscribed}
    same: dict[Guid, set[Guid]] = defaultdict(set)
    groups_found = [
        *_with_one_podcast_guid(live.values(), known),
        *_with_alike_urls(live.values()),
        *_with_equal_items(live.values(), known),
    ]
    for group in groups_found:
        for guid in group:
            same[guid].update(group)
    moved = _moved_within(live.values(), known)
    for old, new in moved.items():
        same[old].add(new)
        same[new].add(old)
    for pair in apart:
        if pair.lower in same and pair.higher in same:
            same[pair.lower].discard(pair.higher)
            same[pair.higher].discard(pair.lower)

    def place(guid: Guid) -> tuple[bool, bool, bool, int]:
        feed = live[guid]
        headline = known.get(feed.feed_url)
        is_failing = headline is not None and headline.failing is not None
        is_plain = not feed.feed_url.lower().startswith("https:")
        return guid in moved, is_failing, is_plain, -feed.status_changed

    groups, seen = [], set[Guid]()
    for first in same:
        if first not in seen:
            reached = _reached(first, same)
            seen |= reached
            if len(reached) > 1:
                groups.append(sorted(reached, key=place))
    return groups


def _with_one_podcast_guid(
    live: Iterable[Subscription], known: Mapping[str, Headline]
) -> list[list[Guid]]:
    by_podcast: dict[tuple[str, bool], list[Guid]] = defaultdict(list)
    for feed in live:
        headline = known.get(feed.feed_url)
        if headline is not None and headline.podcast_guid:
            is_personal = address_of(feed.feed_url).is_personal
            by_podcast[headline.podcast_guid, is_personal].append(feed.guid)
    return [group for group in by_podcast.values() if 1 < len(group) <= MAX_COPIES]


def _with_alike_urls(live: Iterable[Subscription]) -> list[list[Guid]]:
    by_name: dict[str, list[Guid]] = defaultdict(list)
    for feed in live:
        by_name[address_of(feed.feed_url).likely_name].append(feed.guid)
    return [group[:MAX_ALIKE] for group in by_name.values() if len(group) > 1]


def _with_equal_items(
    live: Iterable[Subscription], known: Mapping[str, Headline]
) -> list[list[Guid]]:
    """Return pairs of feeds that have the same title and items."""
    by_title: dict[tuple[str, bool], list[tuple[Guid, frozenset[str]]]] = defaultdict(list)
    for feed in live:
        headline = known.get(feed.feed_url)
        if headline is not None and headline.title and headline.items:
            is_personal = address_of(feed.feed_url).is_personal
            by_title[headline.title, is_personal].append((feed.guid, headline.items))
    return [
        [one, other]
        for group in by_title.values()
        for (one, items), (other, others) in combinations(group[:MAX_ALIKE], 2)
        if items == others or len(items & others) >= _EQUAL_ITEMS
    ]


def _moved_within(
    live: Collection[Subscription], known: Mapping[str, Headline]
) -> dict[Guid, Guid]:
    """Return the feeds of a list that moved to another feed of it, by guid."""
    told = {
        feed.guid: headline.moved_to
        for feed in live
        if (headline := known.get(feed.feed_url)) and headline.moved_to
    }
    if not told:
        return {}
    at = {_derived(feed.feed_url, known): feed.guid for feed in live}
    return {guid: at[to] for guid, to in told.items() if to in at and at[to] != guid}


def _derived(url: str, known: Mapping[str, Headline]) -> Guid:
    return known[url].guid if url in known else parse_feed_url(url).guid


def _reached(first: Guid, same: Mapping[Guid, Iterable[Guid]]) -> set[Guid]:
    reached, waiting = {first}, [first]
    while waiting:
        for guid in same[waiting.pop()]:
            if guid not in reached:
                reached.add(guid)
                waiting.append(guid)
    return reached


def _address(feed_url: str) -> Address:
    text = feed_url.partition("://")[2].removeprefix("www.").rstrip("/")
    host = host_of(feed_url).strip("[]").removeprefix("www.")
    return Address(text, host, looks_personal(feed_url), likely_name(feed_url))


_remembered_address = lru_cache(_REMEMBERED)(_address)
