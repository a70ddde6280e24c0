"""Reader of feeds: RSS, Atom or JSON Feed, as found in the wild."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from feedkeep.feeds.found import Field, FoundFields, FoundItem, stamp_of
from feedkeep.feeds.xml_feeds import read_xml_feed
from feedkeep.formats.decoding import utf8
from feedkeep.model import Episode, FeedContent, NewestEpisodes, Stamp
from feedkeep.model.errors import NotAFeed
from feedkeep.rules.clock import SECOND_US

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
    title: msgspec.Raw = _ABSENT
    url: msgspec.Raw = _ABSENT


class _Attachment(msgspec.Struct):
    url: msgspec.Raw = _ABSENT
    duration_in_seconds: msgspec.Raw = _ABSENT


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
        found.add_item(_item_of(item, url))
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


def _item_of(item: _Item, url: str) -> FoundItem:
    number = _as(item.id, int)  # some write numbers, against the specification
    item_id = _text(item.id) or ("" if number is None else str(number))
    file = next(iter(_list(item.attachments, _Attachment)), _Attachment())
    file_url, seconds = _text(file.url), _as(file.duration_in_seconds, float)
    return FoundItem(
        item_id or file_url,
        _text(item.date_published),
        _text(item.title),
        _text(item.url),
        file_url,
        "" if seconds is None else str(seconds),
        (url,),
    )


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


def read_with_episodes(
    document: bytes, content_type: str, url: str, until: Stamp, limit: int
) -> tuple[FeedContent, Sequence[Episode]]:
    """Read a feed and its newest episodes completely, or raise.

    Args:
        document: Decompressed bytes from another host; the part beyond `MAX_BYTES` is ignored.
        content_type: The header's value, or "": only its charset counts, as a hint.
        url: URL of the document, the base of relative URLs.
        until: Latest valid date of items.
        limit: Maximum number of episodes.

    Raises:
        NotAFeed: The document is not a feed, or is truncated before the feed's own fields end.
    """
    text = utf8(document[:MAX_BYTES], content_type).strip()
    if not text:
        raise NotAFeed("The document is empty.")
    is_json = text.startswith((b"{", b"["))
    is_cut = len(document) >= MAX_BYTES
    found = read_json_feed(text, url, is_cut=is_cut) if is_json else read_xml_feed(text, url)
    latest = datetime.fromtimestamp(until // SECOND_US, UTC)
    episodes = found.newest_episodes(limit, latest)
    content = _content(found, latest, episodes)
    if not content.title and not content.items:
        raise NotAFeed("The feed has neither a title nor items.")
    return content, episodes


def newest_episodes(episodes: Sequence[Episode], limit: int) -> NewestEpisodes:
    """Return the episodes of a feed that was read with a limit, with their digest.

    Without a limit, nothing is known of episodes, as in a feed that was never read.
    """
    hashed = hashlib.sha256(msgspec.json.encode(episodes)).hexdigest()[:16]
    return NewestEpisodes(f"{limit} {hashed}" if limit else "", tuple(episodes))


def limit_of(digest: str) -> int:
    """Return the limit with which the episodes with a digest were read."""
    limit = digest.partition(" ")[0]
    return int(limit) if limit.isdecimal() else 0


def _content(found: FoundFields, latest: datetime, episodes: Sequence[Episode]) -> FeedContent:
    newest = found.newest_date(latest)
    published = None if newest is None else stamp_of(newest)
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
        newest=published,
        # The newest item may have no title.
        newest_title=next((one.title for one in episodes[:1] if one.published == published), ""),
    )


def _short_hash(item_id: str) -> str:
    return hashlib.sha256(item_id.encode(errors="replace")).hexdigest()[:16]
