"""Read feed lists in any format, and write them."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum

import msgspec

from feedkeep.formats import feed_table, opml
from feedkeep.formats.decoding import utf8
from feedkeep.formats.encodings import SHOWN_BY_BEGINNING
from feedkeep.formats.json_bounds import check_json
from feedkeep.formats.listed_feed import FeedList, ListedFeed, check_count
from feedkeep.model import Guid, Subscription
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput, Sentence
from feedkeep.rules.feed_labels import NO_LABELS, Labels
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import (
    LINK_SCHEMES,
    as_feed_url,
    as_linked,
    as_typed,
    parse_feed_url,
    trimmed,
)
from feedkeep.rules.guids import guid_or_none

MAX_LINES = 400_000
"""Maximum number of lines of a text; no list of feeds has nearly as many."""

MAX_ITEMS = 400_000
"""Maximum number of feeds in a list that an operator reads from a file."""

_ENOUGH_CHARACTERS = 1_024
_EXAMPLES = 3
_MAX_EXAMPLE_CHARACTERS = 80
_URL_FIELDS = ("feed_url", "url", "feed")
_JSON = re.compile(r"\{|\[\s*(?:[\[\]{\"]|null\b)")
_BRACKETED = re.compile(r"<([^?!/\s<>][^\s<>]*)>")
_LINE_ENDS = ("\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
_ENCLOSED = re.compile(r"""<([^\s<>]+)>|"([^\s"]+)\"""")
_ADDRESS = re.compile(rf"(?:https?://|(?:{'|'.join(LINK_SCHEMES)}):)\S", re.IGNORECASE)


class Format(StrEnum):
    """Format of a written feed list."""

    OPML = "opml"
    JSON = "json"
    URLS = "urls"


class _JsonFeed(msgspec.Struct, omit_defaults=True):
    feed_url: str
    guid: str | None = None


class _JsonList(msgspec.Struct):
    """Body of POST /subscriptions, so that an export can be sent unchanged."""

    subscriptions: list[_JsonFeed]


def read_feed_list(data: bytes, max_items: int = MAX_ITEMS) -> FeedList:
    """Read the feeds of a file, in order, without checking URLs and guids.

    Any encoding of browsers is accepted, whatever the file declares, also with invalid bytes.
    Addresses are interpreted as people mean them, such as links to subscribe, or without a
    protocol.

    Raises:
        InvalidInput: The file has another format, is broken or hostile, or has more than
            `max_items` feeds.
    """
    # Now only a truncated last character can be invalid.
    text = utf8(data, "").decode(errors="ignore").lstrip("\ufeff")
    start = text.lstrip()
    if _JSON.match(start):
        found = FeedList(_read_json(start, max_items))
    elif opml.is_opml(text) or (start.startswith("<") and not _is_bracketed(start)):
        found = opml.read(text, max_items)
    elif "\0" in text[:_ENOUGH_CHARACTERS]:
        raise _no_list()
    elif table := _read_table(text, max_items):
        found = FeedList(table)
    else:
        found = _read_text(text, max_items)
    return _as_meant(replace(found, feeds=_without_copied_guids(found.feeds)))


def _no_list() -> InvalidInput:
    return InvalidInput(
        "This is not a list of feeds. Choose the file that your app exported: mostly, its name ends"
        " in .opml."
    )


def decoded_exactly(data: bytes) -> str:
    """Decode a text in UTF-8, or in the encoding that its first bytes reveal.

    Raises:
        InvalidInput: The text has another encoding, or an invalid byte.
    """
    codecs = (codec for mark, codec in SHOWN_BY_BEGINNING.items() if data.startswith(mark))
    try:
        return data.decode(next(codecs, "utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "The text is not UTF-8: {reason} at byte {place}.",
            reason=error.reason,
            place=error.start,
        ) from error


def write_feed_list(
    subscriptions: Sequence[Subscription],
    kind: Format,
    cards: Mapping[str, Card],
    labels: Labels = NO_LABELS,
) -> bytes:
    """Write a list in a format that `read_feed_list` reads.

    Guids that differ from the derived ones are included, except in the format `URLS`. OPML also has
    the summaries in `cards`, by URL, and the titles and folders in `labels`.

    Raises:
        InvalidInput: A URL cannot be written in OPML.
    """
    feeds = [
        ListedFeed(
            0,
            item.feed_url,
            None if parse_feed_url(item.feed_url).guid == item.guid else item.guid,
            folder=labels.folder(item.feed_url),
            card=labels.titled(item.feed_url, cards.get(item.feed_url)),
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


def _is_bracketed(text: str) -> bool:
    found = _BRACKETED.match(text)
    return found is not None and ("." in found[1] or ":/" in found[1])


def _read_json(text: str, max_items: int) -> list[ListedFeed]:
    """Read our own export, or an array of addresses or of objects with an address."""
    check_json(text.encode())
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput("The JSON cannot be read: {reason}.", reason=str(error)) from error
    items = found.get("subscriptions") if isinstance(found, dict) else found
    if not isinstance(items, list):
        raise InvalidInput("The JSON has no list of feeds.")
    check_count(len(items), max_items)
    return [_json_feed(number, item) for number, item in enumerate(items, 1)]


def _json_feed(number: int, item: object) -> ListedFeed:
    fields = item if isinstance(item, dict) else {"url": item}
    urls = [url for name in _URL_FIELDS if isinstance(url := fields.get(name), str)]
    guid, title = fields.get("guid"), fields.get("title") or fields.get("name")  # NewPipe
    return ListedFeed(
        number,
        urls[0] if urls else "",
        guid if isinstance(guid, str) else None,
        is_item=True,
        title=title if isinstance(title, str) else "",
    )


def _read_table(text: str, max_items: int) -> list[ListedFeed] | None:
    try:
        return feed_table.read(text, max_items)
    except csv.Error as error:
        raise _no_list() from error


def read_urls(
    text: str, max_items: int = MAX_ITEMS, max_lines: int = MAX_LINES
) -> list[ListedFeed]:
    """Read a text with one URL a line; lines that start with # are comments.

    Raises:
        InvalidInput: The text has more than `max_lines` lines, or more than `max_items` feeds.
    """
    feeds: list[ListedFeed] = []
    for number, line in _lines(text, max_lines):
        check_count(len(feeds) + 1, max_items)
        feeds.append(ListedFeed(number, line, None))
    return feeds


def _lines(text: str, max_lines: int = MAX_LINES) -> Iterator[tuple[int, str]]:
    if sum(map(text.count, _LINE_ENDS)) - text.count("\r\n") > max_lines:
        raise InvalidInput("The text has more than {max} lines.", max=max_lines)
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _read_text(text: str, max_items: int) -> FeedList:
    """Read a text with one feed a line, or more if all words are addresses.

    In files of newsboat and podget, tags, a title or a category follow the address.
    """
    feeds: list[ListedFeed] = []
    not_used: list[str] = []
    for number, line in _lines(text):
        words = [_without_enclosure(word) for word in line.split(maxsplit=max_items)]
        check_count(len(words), max_items)
        is_address = [_ADDRESS.match(word) is not None for word in words]
        if all(is_address) or len(words) == 1:
            feeds += [ListedFeed(number, word, None) for word in words]
        elif is_address[0]:
            feeds.append(ListedFeed(number, words[0].rstrip(",;"), None))
            not_used.append(line.partition(" ")[2])
        else:
            feeds.append(ListedFeed(number, line, None))
        check_count(len(feeds), max_items)
    if not not_used:
        return FeedList(feeds)
    note = Sentence(
        "What follows the address in a line was not used: {count} times, such as {examples}.",
        _counted(not_used),
    )
    return FeedList(feeds, [note])


def _without_enclosure(word: str) -> str:
    enclosed = _ENCLOSED.fullmatch(word)
    return enclosed[1] or enclosed[2] if enclosed else word


def _without_copied_guids(feeds: Sequence[ListedFeed]) -> list[ListedFeed]:
    """Remove guids that several URLs of the file share.

    Publishers copy the guid of one podcast to another. Most guids are derived from a URL, so the
    derived guid of each URL counts, too.
    """
    urls: defaultdict[str, set[Guid]] = defaultdict(set)
    for feed in feeds:
        with suppress(InvalidFeedUrl):
            derived = parse_feed_url(as_typed(feed.feed_url)).guid
            for named in {derived, guid_or_none(feed.guid or "") or derived}:
                urls[named].add(derived)
    return [
        replace(feed, guid=None)
        if feed.guid and len(urls[guid_or_none(feed.guid) or ""]) > 1
        else feed
        for feed in feeds
    ]


def _as_meant(found: FeedList) -> FeedList:
    """Interpret the addresses as people mean them, by `as_feed_url`."""
    listed = [feed.feed_url for feed in found.feeds]
    meant = [as_feed_url(text) for text in listed]
    feeds = [
        feed if url == feed.feed_url else replace(feed, feed_url=url)
        for feed, url in zip(found.feeds, meant, strict=True)
    ]
    guessed = [
        feed.feed_url
        for feed, text in zip(feeds, listed, strict=True)
        if feed.feed_url != trimmed(text) and as_linked(text) == text and "://" not in text
    ]
    if not guessed:
        return FeedList(feeds, found.notes)
    note = Sentence(
        "Addresses without a protocol were taken for https: {count}, such as {examples}.",
        _counted(guessed),
    )
    return FeedList(feeds, [*found.notes, note])


def _counted(texts: Sequence[str]) -> dict[str, int | str]:
    examples = [text.strip()[:_MAX_EXAMPLE_CHARACTERS] for text in texts[:_EXAMPLES]]
    return {"count": len(texts), "examples": ", ".join(examples)}
