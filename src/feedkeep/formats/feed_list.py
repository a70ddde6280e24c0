"""Read feed lists in any format, and write them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum

import msgspec

from feedkeep.formats import feed_json, feed_table, feed_text, opml, opml_writer
from feedkeep.formats.decoding import SHOWN_BY_BEGINNING, utf8
from feedkeep.formats.feed_text import MAX_LINES
from feedkeep.formats.listed_feed import FeedList, ListedFeed, check_count, not_a_list
from feedkeep.model import Guid, Subscription
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput, Sentence
from feedkeep.rules.feed_labels import NO_LABELS, Labels, title_of
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import as_feed_url, as_linked, as_typed, parse_feed_url, trimmed
from feedkeep.rules.guids import guid_or_none

MAX_ITEMS = 400_000
"""Maximum number of feeds in a list that an operator reads from a file."""

_ENOUGH_CHARACTERS = 1_024
_EXAMPLES = 3
_MEDIA = Sentence("This is the address of a file, such as an episode or a picture.")
_OF_MEDIA = re.compile(
    r"\.(?:mp3|m4[abv]|mp4|aac|og[ag]|opus|flac|wav|mkv|webm|jpe?g|png|gif|webp|pdf)\Z",
    re.IGNORECASE,
)
_MAX_EXAMPLE_CHARACTERS = 80
_JSON = re.compile(r"\{(?!\\rtf)|\[\s*(?:[\]\"]|\{(?!\d)|\[(?!\w)|null\b)")  # not of RTF, or of INI
_BRACKETED = re.compile(r"<([^?!/\s<>][^\s<>]*)>")


class Format(StrEnum):
    """Format of a written feed list."""

    OPML = "opml"
    JSON = "json"
    URLS = "urls"


class _JsonFeed(msgspec.Struct, omit_defaults=True):
    feed_url: str
    guid: str | None = None
    title: str = ""
    folder: str = ""


class _JsonList(msgspec.Struct):
    """Body of POST /subscriptions, so that an export can be sent unchanged."""

    subscriptions: list[_JsonFeed]


def read_feed_list(data: bytes, max_items: int = MAX_ITEMS, column: str = "") -> FeedList:
    """Read the feeds of a file, in order, without checking URLs and guids.

    Any encoding of browsers is accepted, whatever the file declares, also with invalid bytes.
    Addresses are interpreted as people mean them, such as links to subscribe, or without a
    protocol. `column` names the column of addresses in a table that has several.

    Raises:
        InvalidInput: The file has another format, is broken or hostile, or has more than
            `max_items` feeds.
        UnclearColumn: Several columns of a table may have the addresses.
    """
    text = decoded(data)
    start = text.lstrip()
    if _JSON.match(start):
        found = FeedList(feed_json.read(start, max_items))
    elif opml.is_opml(text) or (start.startswith("<") and not _is_bracketed(start)):
        found = opml.read(text, max_items)
    elif "\0" in text[:_ENOUGH_CHARACTERS] or start.startswith("{\\rtf"):
        raise not_a_list()
    else:
        feed_text.check_lines(text, MAX_LINES)
        table = feed_table.read(text, max_items, column)
        found = FeedList(table) if table else feed_text.read(text, max_items)
    return _as_meant(replace(found, feeds=_without_copied_guids(found.feeds)))


def decoded(data: bytes) -> str:
    # Only a truncated last character can be invalid.
    return utf8(data, "").decode(errors="ignore").lstrip("\ufeff")


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

    Guids that differ from the derived ones are included, except in the format `URLS`. OPML and JSON
    have the titles and folders in `labels`, and the titles in `cards`, by URL; OPML has the rest of
    the `cards`, too.
    """
    feeds = [_listed(item, cards, labels, kind) for item in subscriptions]
    match kind:
        case Format.OPML:
            return opml_writer.write(feeds)
        case Format.JSON:
            items = [
                _JsonFeed(
                    feed.feed_url, item.guid, feed.card.title if feed.card else "", feed.folder
                )
                for feed, item in zip(feeds, subscriptions, strict=True)
            ]
            return msgspec.json.format(msgspec.json.encode(_JsonList(items)), indent=2) + b"\n"
        case Format.URLS:
            return "".join(f"{feed.feed_url}\n" for feed in feeds).encode()


def _listed(
    item: Subscription, cards: Mapping[str, Card], labels: Labels, kind: Format
) -> ListedFeed:
    url = opml_writer.in_xml(item.feed_url) if kind is Format.OPML else item.feed_url
    return ListedFeed(
        0,
        url,
        None if parse_feed_url(url).guid == item.guid else item.guid,
        folder=labels.folder(item.feed_url),
        card=labels.titled(item.feed_url, cards.get(item.feed_url)),
    )


def _is_bracketed(text: str) -> bool:
    found = _BRACKETED.match(text)
    return found is not None and ("." in found[1] or ":/" in found[1])


def read_urls(
    text: str, max_items: int = MAX_ITEMS, max_lines: int = MAX_LINES
) -> list[ListedFeed]:
    """Read a text with one URL a line; lines that start with # are comments.

    Raises:
        InvalidInput: The text has more than `max_lines` lines, or more than `max_items` feeds.
    """
    feeds: list[ListedFeed] = []
    for number, line in feed_text.lines(text, max_lines):
        check_count(len(feeds) + 1, max_items)
        feeds.append(ListedFeed(number, line, None))
    return feeds


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
    """Interpret the addresses as people mean them, by `as_feed_url`; make titles one line each."""
    listed = [feed.feed_url for feed in found.feeds]
    feeds = [_meant(feed) for feed in found.feeds]
    guessed = [
        feed.feed_url
        for feed, text in zip(feeds, listed, strict=True)
        if feed.feed_url != trimmed(text) and as_linked(text) == text and "://" not in text
    ]
    if not guessed:
        return FeedList(feeds, found.notes)
    note = Sentence(
        "Addresses completed with “https://”: {count}, such as {examples}.",
        _counted(guessed),
    )
    return FeedList(feeds, [*found.notes, note])


def _meant(feed: ListedFeed) -> ListedFeed:
    url = as_feed_url(feed.feed_url)
    title = title_of(feed.title, url)
    is_media = _OF_MEDIA.search(url.partition("?")[0].partition("#")[0]) is not None
    doubt = feed.doubt or (_MEDIA if is_media else None)
    if (url, title, doubt) == (feed.feed_url, feed.title, feed.doubt):
        return feed
    return replace(feed, feed_url=url, title=title, doubt=doubt)


def _counted(texts: Sequence[str]) -> dict[str, int | str]:
    examples = [text.strip()[:_MAX_EXAMPLE_CHARACTERS] for text in texts[:_EXAMPLES]]
    return {"count": len(texts), "examples": ", ".join(examples)}
