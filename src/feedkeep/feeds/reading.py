"""Reader of feeds: RSS, Atom or JSON Feed, as found in the wild."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from feedkeep.feeds.found import Field, FoundFields
from feedkeep.feeds.xml_feeds import read_xml_feed
from feedkeep.formats.decoding import utf8
from feedkeep.model import FeedContent, Stamp
from feedkeep.model.errors import NotAFeed

MAX_OBJECTS = 50_000
"""Maximum number of objects in a document; no feed has nearly as many."""

_MAX_ENDS = 30
"""Maximum number of braces that are tried as the end of the last complete item of a cut document.
"""

_VERSIONS = ("https://jsonfeed.org/version/", "http://jsonfeed.org/version/")
_ABSENT = msgspec.Raw(b"null")
T = TypeVar("T")


# Fields are decoded one by one, so that a number as a title does not hide the rest. Unused fields
# are never decoded.
class _Feed(msgspec.Struct):
    version: msgspec.Raw = _ABSENT
    title: msgspec.Raw = _ABSENT
    description: msgspec.Raw = _ABSENT
    home_page_url: msgspec.Raw = _ABSENT
    icon: msgspec.Raw = _ABSENT
    favicon: msgspec.Raw = _ABSENT
    language: msgspec.Raw = _ABSENT
    author: msgspec.Raw = _ABSENT
    authors: msgspec.Raw = _ABSENT
    items: msgspec.Raw = _ABSENT


class _Author(msgspec.Struct):
    name: msgspec.Raw = _ABSENT


class _Item(msgspec.Struct):
    id: msgspec.Raw = _ABSENT
    attachments: msgspec.Raw = _ABSENT
    date_published: msgspec.Raw = _ABSENT


class _Attachment(msgspec.Struct):
    url: msgspec.Raw = _ABSENT


def read_json_feed(document: bytes, url: str, *, is_cut: bool = False) -> FoundFields:
    """Read a JSON Feed in UTF-8; a document that `is_cut` is read up to its last complete item.

    Raises:
        NotAFeed: The document is not a JSON Feed, or is truncated.
    """
    if document.count(b"{") > MAX_OBJECTS:
        raise NotAFeed("There are more than {max} objects in the JSON.", max=MAX_OBJECTS)
    try:
        feed = _beginning(document) if is_cut else msgspec.json.decode(document, type=_Feed)
    except msgspec.ValidationError as error:  # such as an array
        raise NotAFeed("This is JSON, but not JSON Feed.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotAFeed("The JSON is broken or not whole.") from error
    if not _text(feed.version).startswith(_VERSIONS):
        raise NotAFeed("This is JSON, but not JSON Feed.")
    found = FoundFields()
    found.offer(Field.TITLE, 0, _text(feed.title))
    found.offer(Field.DESCRIPTION, 0, _text(feed.description))
    found.offer(Field.LANGUAGE, 0, _text(feed.language))
    for author in [*_list(feed.authors, _Author), _as(feed.author, _Author)]:
        found.offer(Field.AUTHOR, 0, _text(author.name) if author else "")
    found.offer_url(Field.SITE_URL, 0, [url], _text(feed.home_page_url))
    found.offer_url(Field.PICTURE_URL, 0, [url], _text(feed.icon))
    found.offer_url(Field.PICTURE_URL, 1, [url], _text(feed.favicon))
    for item in _list(feed.items, _Item):
        found.add_item(_id_of(item), _text(item.date_published))
    return found


def _beginning(document: bytes) -> _Feed:
    """Decode a document up to the end of its last complete item.

    Raises:
        msgspec.DecodeError: There is no complete item near the end.
    """
    end = len(document)
    for _ in range(_MAX_ENDS):
        end = max(document.rfind(b"}", 0, end), 0)
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(document[: end + 1] + b"]}", type=_Feed)
    return msgspec.json.decode(document, type=_Feed)


def _id_of(item: _Item) -> str:
    number = _as(item.id, int)  # some write numbers, against the specification
    urls = (_text(attachment.url) for attachment in _list(item.attachments, _Attachment))
    return _text(item.id) or ("" if number is None else str(number)) or next(urls, "")


def _text(raw: msgspec.Raw) -> str:
    return (_as(raw, str) or "").strip()


def _list(raw: msgspec.Raw, kind: type[T]) -> list[T]:
    # mypy rejects a variable as a type argument; msgspec validates the result.
    return _as(raw, list[kind]) or []  # type: ignore[valid-type]


def _as(raw: msgspec.Raw, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError:
        return None


MAX_BYTES = 8 * 1024 * 1024

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = Stamp(253_370_764_800_000_000)
"""Start of the year 9999."""


def read_feed(document: bytes, content_type: str, url: str, until: Stamp = _LAST) -> FeedContent:
    """Read a feed completely, or raise.

    Args:
        document: Decompressed bytes from another host; the part beyond `MAX_BYTES` is ignored.
        content_type: The header's value, or "": only its charset counts, as a hint.
        url: URL of the document, the base of relative URLs.
        until: Latest valid date of items.

    Raises:
        NotAFeed: The document is not a feed, or is truncated before the feed's own fields end.
    """
    text = utf8(document[:MAX_BYTES], content_type).strip()
    if not text:
        raise NotAFeed("The document is empty.")
    is_json = text.startswith((b"{", b"["))
    is_cut = len(document) >= MAX_BYTES
    found = read_json_feed(text, url, is_cut=is_cut) if is_json else read_xml_feed(text, url)
    content = _content(found, until)
    if not content.title and not content.items:
        raise NotAFeed("The feed has neither a title nor items.")
    return content


def _content(found: FoundFields, until: Stamp) -> FeedContent:
    newest = found.newest_date(_EPOCH + timedelta(microseconds=until))
    return FeedContent(
        title=found.text(Field.TITLE),
        description=found.text(Field.DESCRIPTION),
        site_url=found.text(Field.SITE_URL),
        picture_url=found.text(Field.PICTURE_URL),
        language=found.text(Field.LANGUAGE),
        author=found.text(Field.AUTHOR),
        podcast_guid=found.text(Field.PODCAST_GUID),
        is_locked=found.text(Field.LOCKED) == "yes",
        new_feed_url=found.text(Field.NEW_FEED_URL),
        items=tuple(map(_short_hash, found.newest_items())),
        newest=None if newest is None else Stamp((newest - _EPOCH) // timedelta(microseconds=1)),
    )


def _short_hash(item_id: str) -> str:
    return hashlib.sha256(item_id.encode(errors="replace")).hexdigest()[:16]
