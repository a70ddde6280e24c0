"""Reader of feeds: RSS, Atom or JSON Feed, as found in the wild."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from feedkeep.feeds.fields import Field
from feedkeep.feeds.found import FoundFields
from feedkeep.feeds.json_feeds import read_json_feed
from feedkeep.feeds.xml_feeds import read_xml_feed
from feedkeep.formats.decoding import utf8
from feedkeep.model import FeedContent, Stamp
from feedkeep.model.errors import NotAFeed

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
