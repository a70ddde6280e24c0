"""What a document says of its feed: RSS, Atom or JSON Feed, as they are found in the wild."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlsplit

from feedkeep.decoding import utf8
from feedkeep.errors import NotAFeed
from feedkeep.feeds.found import Field, Found
from feedkeep.feeds.json_feeds import read_json_feed
from feedkeep.feeds.plain_text import plain_text
from feedkeep.feeds.xml_feeds import read_xml_feed
from feedkeep.model import FeedContent
from feedkeep.rules.feed_names import MAX_DESCRIPTION, MAX_LANGUAGE, MAX_TITLE
from feedkeep.rules.feed_urls import MAX_CHARACTERS as MAX_FEED_URL
from feedkeep.rules.guids import guid_or_none

MAX_BYTES = 8 * 1024 * 1024
MAX_URL = 2_000
"""The most characters of an address."""

_NO_WHITE_SPACE_OR_CONTROLS = re.compile(r"[^\s\x00-\x20\x7f-\x9f\ud800-\udfff]+")
_MARKS = re.compile(r"""["<>\\^`{|}]""")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_LOCKED = {"yes", "true"}


def read_feed(document: bytes, content_type: str, url: str) -> FeedContent:
    """Return what a document says of its feed; never half of it.

    Args:
        document: The bytes that another host sent, unpacked.
        content_type: The header of that name, or "": only its charset counts, and not much.
        url: Where the document came from: what its URLs are relative to.

    Raises:
        NotAFeed: It is no feed, or what it says of the feed cannot be read to the end.
    """
    if len(document) > MAX_BYTES:
        raise NotAFeed("The document has more than {max} bytes.", max=MAX_BYTES)
    text = utf8(document, content_type).strip()
    if not text:
        raise NotAFeed("The document is empty.")
    is_json = text.startswith((b"{", b"["))
    found = read_json_feed(text, url) if is_json else read_xml_feed(text, url)
    content = _content(found)
    if not content.title and not content.items:
        raise NotAFeed("The feed has neither a title nor items.")
    return content


def _content(found: Found) -> FeedContent:
    language = found.text(Field.LANGUAGE).replace("_", "-")
    is_language = len(language) <= MAX_LANGUAGE and _LANGUAGE.fullmatch(language)
    return FeedContent(
        title=plain_text(found.text(Field.TITLE), MAX_TITLE),
        description=plain_text(found.text(Field.DESCRIPTION), MAX_DESCRIPTION),
        site_url=absolute_url(found.text(Field.SITE_URL), MAX_URL),
        picture_url=absolute_url(found.text(Field.PICTURE_URL), MAX_URL),
        language=language if is_language else "",
        author=plain_text(found.text(Field.AUTHOR), MAX_TITLE),
        podcast_guid=guid_or_none(found.text(Field.PODCAST_GUID)) or "",
        is_locked=found.text(Field.LOCKED).lower() in _LOCKED,
        new_feed_url=absolute_url(found.text(Field.NEW_FEED_URL), MAX_FEED_URL),
        items=tuple(map(_short_hash, found.newest_items())),
    )


def absolute_url(text: str, limit: int) -> str:
    """Return an absolute URL of http or https as it is, with its spaces escaped; else ""."""
    url = _MARKS.sub(lambda mark: f"%{ord(mark[0]):02X}", text.replace(" ", "%20"))
    if len(url) > limit or not _NO_WHITE_SPACE_OR_CONTROLS.fullmatch(url):
        return ""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in {"http", "https"} and parts.hostname
        parts.port  # noqa: B018 - raises if it is not a number
    except ValueError:
        return ""
    return url if is_web else ""


def _short_hash(item_id: str) -> str:
    return hashlib.sha256(item_id.encode(errors="replace")).hexdigest()[:16]
