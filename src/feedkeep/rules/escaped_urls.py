"""Feeds whose URLs apps send without escapes. Pure.

AntennaPod and Podcini.X replace "%3A" with ":" in all URLs that they are sent, and Kasts decodes
every escape: their URL means the same feed, but is a different URL (RFC 3986, section 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from urllib.parse import unquote

from feedkeep.model import Guid, Subscription
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.feed_urls import FeedUrl, as_linked, parse_feed_url, trimmed

MAX_CHARACTERS = 1_000
"""Longer URLs are compared as written: decoding one takes a millisecond."""

_MAX_ALIKE = 8
"""Above this number of URLs that are equal once decoded, none of them is used."""


class EscapedUrls:
    """An account's URLs that equal a text once both are decoded.

    Args:
        stored: The URLs with an escape among all present and former URLs of the account's feeds.
    """

    def __init__(self, stored: Iterable[str] = ()) -> None:
        self._by_decoded: dict[str, list[str]] = {}
        for url in stored:
            if len(url) <= MAX_CHARACTERS:
                self._by_decoded.setdefault(without_escapes(url), []).append(url)

    def others(self, text: str) -> Sequence[FeedUrl]:
        """Return up to nine URLs that equal the text once decoded, without the text itself.

        One of them is the decoded text, which the account may not have.
        """
        if not self._by_decoded and "%" not in text:  # true for nearly all texts
            return ()
        text = trimmed(as_linked(text))
        scheme, separator, _ = text.partition("://")
        if not separator or len(text) > MAX_CHARACTERS:
            return ()
        decoded = without_escapes(text)
        alike = self._by_decoded.get(decoded, [])
        urls = [*(alike if len(alike) <= _MAX_ALIKE else ())]
        if "%" in text:
            urls.append(f"{scheme}://{decoded}")
        found: dict[Guid, FeedUrl] = {}
        for url in urls:
            with suppress(InvalidFeedUrl):
                found.setdefault((parsed := parse_feed_url(url)).guid, parsed)
        if found:
            with suppress(InvalidFeedUrl):  # white space: "%20" was decoded, too
                found.pop(parse_feed_url(text).guid, None)
        return tuple(found.values())

    def parsed(self, text: str) -> FeedUrl:
        """Parse a URL; or return the account's only URL that equals it once decoded.

        Kasts decodes "%20", too, so that it sends invalid URLs.

        Raises:
            InvalidFeedUrl: It is not a feed URL, and not exactly one URL equals it once decoded.
        """
        try:
            return parse_feed_url(as_linked(text))
        except InvalidFeedUrl:
            if len(others := self.others(text)) == 1:
                return others[0]
            raise


NONE_ESCAPED = EscapedUrls()


def without_escapes(url: str) -> str:
    """Return a feed URL, without scheme, fragment and last slash, as a decoding app has it."""
    return unquote(url.partition("://")[2].partition("#")[0]).rstrip("/")


def as_known(
    url: FeedUrl,
    find: Callable[[Guid], Subscription | None],
    others: Sequence[FeedUrl],
    *,
    may_be_unsubscribed: bool = False,
) -> FeedUrl:
    """Return the account's URL of the feed that an app names with different escapes.

    Only a URL that is unknown to the account can mean another, and only if exactly one feed
    matches. `find` returns the subscription that a guid resolves to, for the URL and for the
    `others`, which `EscapedUrls` found. With `may_be_unsubscribed`, a deleted feed can match if no
    other does: an undo can restore it.
    """
    if not others or find(url.guid) is not None:
        return url
    found: dict[Guid, FeedUrl] = {}
    deleted: dict[Guid, FeedUrl] = {}
    for other in others:
        feed = find(other.guid)
        if feed is None:
            continue
        if feed.deleted is not None:
            deleted.setdefault(feed.guid, other)
        elif feed.is_subscribed or may_be_unsubscribed:
            found.setdefault(feed.guid, other)
    if may_be_unsubscribed:
        found = found or deleted
    return next(iter(found.values())) if len(found) == 1 else url
