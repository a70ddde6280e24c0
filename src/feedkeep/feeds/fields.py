"""Fields of a feed, and validation of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum

from feedkeep.feeds.plain_text import plain_text
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.feed_urls import MAX_CHARACTERS as MAX_FEED_URL
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.guids import guid_or_none
from feedkeep.rules.text_limits import MAX_DESCRIPTION, MAX_LANGUAGE, MAX_TITLE

MAX_URL = 2_000
"""Maximum length of an address, in characters."""

_NO_WHITE_SPACE_OR_CONTROLS = re.compile(r"[^\s\x00-\x20\x7f-\x9f\ud800-\udfff]+")
_MARKS = re.compile(r"""["<>\\^`{|}]""")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_LOCKED = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
_NIL = "00000000-0000-0000-0000-000000000000"


class Field(Enum):
    """Field of a feed."""

    TITLE = "title"
    DESCRIPTION = "description"
    SITE_URL = "site_url"
    PICTURE_URL = "picture_url"
    LANGUAGE = "language"
    AUTHOR = "author"
    PODCAST_GUID = "podcast_guid"
    LOCKED = "locked"
    NEW_FEED_URL = "new_feed_url"


def value_of(field: Field, text: str) -> str:
    """Return the text as a valid value of the field, or ""."""
    return _VALUES[field](text)


def absolute_url(text: str, limit: int) -> str:
    """Return an absolute http or https URL, with spaces and some marks escaped; "" for others."""
    url = _MARKS.sub(lambda mark: f"%{ord(mark[0]):02X}", text.replace(" ", "%20"))
    if len(url) > limit or not _NO_WHITE_SPACE_OR_CONTROLS.fullmatch(url):
        return ""
    try:
        parse_feed_url(url)
    except InvalidFeedUrl:
        return ""
    return url


def _language(text: str) -> str:
    tag = text.replace("_", "-")
    return tag if len(tag) <= MAX_LANGUAGE and _LANGUAGE.fullmatch(tag) else ""


def _podcast_guid(text: str) -> str:
    guid = guid_or_none(text)
    # Programs without a guid write this; it would merge all of their feeds.
    return "" if guid is None or guid == _NIL else guid


_VALUES: Mapping[Field, Callable[[str], str]] = {
    Field.TITLE: lambda text: plain_text(text, MAX_TITLE),
    Field.DESCRIPTION: lambda text: plain_text(text, MAX_DESCRIPTION),
    Field.SITE_URL: lambda text: absolute_url(text, MAX_URL),
    Field.PICTURE_URL: lambda text: absolute_url(text, MAX_URL),
    Field.LANGUAGE: _language,
    Field.AUTHOR: lambda text: plain_text(text, MAX_TITLE),
    Field.PODCAST_GUID: _podcast_guid,
    Field.LOCKED: lambda text: _LOCKED.get(text.lower(), ""),
    Field.NEW_FEED_URL: lambda text: absolute_url(text, MAX_FEED_URL),
}
