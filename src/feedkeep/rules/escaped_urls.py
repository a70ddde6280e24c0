"""Feeds that apps name without the escapes of their URLs. Pure.

AntennaPod and Podcini.X turn "%3A" into ":" in all that they are sent, and Kasts decodes every
escape: what they send names the feed, and is another URL (RFC 3986, section 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from urllib.parse import unquote

from feedkeep.model import Guid, Subscription
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.feed_urls import FeedUrl, as_linked, parse_feed_url, trimmed

MAX_CHARACTERS = 1_000
"""Longer URLs are compared as they are written only: to decode one takes a millisecond."""

_MAX_ALIKE = 8
"""If an account has more URLs that are the same once decoded, none of them is meant."""


class EscapedUrls:
    """Finds the URLs of an account that are the same as a text without the escapes of both."""

    def __init__(self, stored: Iterable[str] = ()) -> None:
        """`stored` are those with an escape of all URLs that the account's feeds have or had."""
        self._by_decoded: dict[str, list[str]] = {}
        for url in stored:
            if len(url) <= MAX_CHARACTERS:
                self._by_decoded.setdefault(without_escapes(url), []).append(url)

    def others(self, text: str) -> Sequence[FeedUrl]:
        """Return such URLs, without the text itself, and at most nine.

        One of them is the decoded text, which the account may have or not.
        """
        if not self._by_decoded and "%" not in text:  # as with nearly all texts
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
        """Return the URL that a text is; or the only one that it is without escapes.

        Kasts decodes "%20", too, and what it sends then is no URL.

        Raises:
            InvalidFeedUrl: It is none, and the account has no such URL or several.
        """
        try:
            return parse_feed_url(as_linked(text))
        except InvalidFeedUrl:
            if len(others := self.others(text)) == 1:
                return others[0]
            raise


NONE_ESCAPED = EscapedUrls()


def without_escapes(url: str) -> str:
    """Return what is left of a feed URL, of any usual spelling, for an app that decodes escapes."""
    return unquote(url.partition("://")[2].partition("#")[0]).rstrip("/")


def as_known(
    url: FeedUrl,
    find: Callable[[Guid], Subscription | None],
    others: Sequence[FeedUrl],
    *,
    may_be_unsubscribed: bool = False,
) -> FeedUrl:
    """Return the URL by which the account has the feed that an app names by other escapes.

    Only a URL that is unknown to the account can mean another, and only if exactly one feed fits.
    `find` returns the subscription that a guid leads to, for the URL and for the `others`, which
    `EscapedUrls` found.
    """
    if not others or find(url.guid) is not None:
        return url
    found: dict[Guid, FeedUrl] = {}
    for other in others:
        feed = find(other.guid)
        if feed is None or feed.deleted is not None:
            continue
        if feed.is_subscribed or may_be_unsubscribed:
            found.setdefault(feed.guid, other)
    return next(iter(found.values())) if len(found) == 1 else url
