"""Reading a feed list in any of the formats, and writing it in one of them."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from feedkeep.errors import InvalidInput
from feedkeep.formats import opml
from feedkeep.formats.listed_feed import FeedList, ListedFeed
from feedkeep.model import Subscription
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import parse_feed_url

MAX_LINES = 400_000
"""The maximum number of lines of a text; no list of feeds has nearly as many."""

_ENOUGH_BYTES = 1_024
_BYTE_ORDER_MARKS = b"\xef\xbb\xbf\xff\xfe"
_WIDE_BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Format(StrEnum):
    """How a feed list is written."""

    OPML = "opml"
    JSON = "json"
    URLS = "urls"


class _JsonFeed(msgspec.Struct, omit_defaults=True):
    feed_url: str
    guid: str | None = None


class _JsonList(msgspec.Struct):
    """The body of POST /subscriptions, so that an export can be sent as it is."""

    subscriptions: list[_JsonFeed]


def read_feed_list(data: bytes) -> FeedList:
    """Return the feeds that a file lists, in its order; their URLs and guids are not checked.

    Raises:
        InvalidInput: It has another format, is broken, or is hostile.
    """
    # UTF-16 has a zero byte beside each ASCII character.
    start = data[:_ENOUGH_BYTES].replace(b"\0", b"").lstrip(_BYTE_ORDER_MARKS + b" \t\r\n")
    if start.startswith(b"{"):
        return FeedList(_read_json(data))
    if start.startswith(b"<"):
        return opml.read(data)
    if b"\0" in data[:_ENOUGH_BYTES] and not data.startswith(_WIDE_BYTE_ORDER_MARKS):
        raise InvalidInput(
            "This is not a list of feeds. Choose the file that your app exported: mostly, its name"
            " ends in .opml."
        )
    return FeedList(read_urls(data))


def write_feed_list(
    subscriptions: Sequence[Subscription], kind: Format, cards: Mapping[str, Card]
) -> bytes:
    """Return the list in a format that `read_feed_list` reads back.

    A guid that is not the one derived from the URL is written, too, except in the format `URLS`;
    OPML also has what `cards` tell, which are by URL.

    Raises:
        InvalidInput: One of the URLs cannot be written in OPML.
    """
    feeds = [
        ListedFeed(
            0,
            item.feed_url,
            None if _is_derived(item) else item.guid,
            card=cards.get(item.feed_url),
        )
        for item in subscriptions
    ]
    match kind:
        case Format.OPML:
            return opml.write(feeds)
        case Format.JSON:
            listed = _JsonList([_JsonFeed(item.feed_url, item.guid) for item in subscriptions])
            return msgspec.json.format(msgspec.json.encode(listed), indent=2) + b"\n"
        case Format.URLS:
            return "".join(f"{feed.feed_url}\n" for feed in feeds).encode()


def _is_derived(subscription: Subscription) -> bool:
    return parse_feed_url(subscription.feed_url).guid == subscription.guid


def _read_json(data: bytes) -> list[ListedFeed]:
    try:
        listed = msgspec.json.decode(data.decode("utf-8-sig"), type=_JsonList)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).replace("`", "")
        raise InvalidInput("The JSON cannot be read: {reason}.", reason=reason) from error
    return [
        ListedFeed(number, feed.feed_url, feed.guid, is_item=True)
        for number, feed in enumerate(listed.subscriptions, 1)
    ]


def read_urls(data: bytes) -> list[ListedFeed]:
    """Return the feeds of a text with one URL a line; lines that start with # are comments.

    Raises:
        InvalidInput: It is neither UTF-8 nor UTF-16 with a byte order mark, or has too many lines.
    """
    encoding = "utf-16" if data.startswith(_WIDE_BYTE_ORDER_MARKS) else "utf-8-sig"
    try:
        lines = data.decode(encoding).splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "The text is not UTF-8: {reason} at byte {place}.",
            reason=error.reason,
            place=error.start,
        ) from error
    if len(lines) > MAX_LINES:
        raise InvalidInput("The text has more than {max} lines.", max=MAX_LINES)
    return [
        ListedFeed(number, line.strip(), None)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
