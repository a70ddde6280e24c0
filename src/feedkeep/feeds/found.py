"""Fields found in a document of any format, validated: the best value of each."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import reduce
from urllib.parse import urljoin

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


MAX_ITEMS = 50


MAX_OFFERS = 100
"""Maximum number of values validated per field: validation is slow, and no feed has that many."""

_RELATIVE = 10
"""Rank penalty of a relative URL: often it is text instead of a URL."""

_ABSOLUTE = re.compile(r"\s*(?:https?:)?//[^/\s]", re.IGNORECASE)
_NO_REFERENCE = re.compile(
    r"""[\s"<>\\^`{|}]|\A(?:null|none|nil|undefined|true|false|n/?a|todo|https?:/*|//)\Z""",
    re.IGNORECASE,
)

_NUMBERS = re.compile(r"([0-9]{4})[/.-]([0-9]{1,2})[/.-]([0-9]{1,2})(\D.*)?", re.DOTALL)


class FoundFields:
    """Collects the values in a document."""

    def __init__(self) -> None:
        self._best: dict[Field, tuple[int, str]] = {}
        self._offers: Counter[Field] = Counter()
        self._first: list[str] = []
        self._last: deque[str] = deque(maxlen=MAX_ITEMS)
        self._first_dates: list[str] = []
        self._last_dates: deque[str] = deque(maxlen=MAX_ITEMS)

    def offer(self, field: Field, rank: int, text: str) -> None:
        """Set a field if the text is valid, and better than the current value.

        Lower ranks are better; on equal ranks, the first value stays.
        """
        if self._is_wanted(field, rank, text):
            self._judge(field, rank, text)

    def offer_url(self, field: Field, rank: int, bases: Sequence[str], reference: str) -> None:
        """Set a field to a URL, as `offer`; each base is relative to the one before.

        Any absolute URL is better than a relative one.
        """
        if _ABSOLUTE.match(reference) is None:
            rank += _RELATIVE
            if _NO_REFERENCE.search(reference.strip()):
                return
        if self._is_wanted(field, rank, reference):
            self._judge(field, rank, reduce(_joined, (*bases, reference)))

    def text(self, field: Field) -> str:
        """Return the best value of a field; "" without one."""
        return self._best.get(field, (0, ""))[1]

    def _is_wanted(self, field: Field, rank: int, text: str) -> bool:
        known = self._best.get(field)
        is_better = known is None or rank < known[0]
        return is_better and bool(text.strip()) and self._offers[field] < MAX_OFFERS

    def _judge(self, field: Field, rank: int, text: str) -> None:
        self._offers[field] += 1
        if value := value_of(field, text.strip()):
            self._best[field] = rank, value

    def add_item(self, item_id: str, date: str) -> None:
        """Add the next item of the document; either argument may be ""."""
        if date:
            if len(self._first_dates) < MAX_ITEMS:
                self._first_dates.append(date)
            self._last_dates.append(date)
        if item_id:
            if len(self._first) < MAX_ITEMS:
                self._first.append(item_id)
            self._last.append(item_id)

    def newest_items(self) -> Sequence[str]:
        """Return the ids of at most 50 items, from the newer end of the document."""
        if self._first_dates:
            begun, ended = _moment(self._first_dates[0]), _moment(self._last_dates[-1])
            if begun is not None and ended is not None and begun < ended:
                return list(reversed(self._last))
        return self._first

    def newest_date(self, until: datetime) -> datetime | None:
        """Return the newest date of the first and last 50 items; None without one.

        Dates after `until` are ignored: some feeds announce future items, or are wrong.
        """
        moments = map(_moment, {*self._first_dates, *self._last_dates})
        return max((one for one in moments if one is not None and one <= until), default=None)


def _joined(base: str, reference: str) -> str:
    """Resolve a reference; one that is not valid is returned unchanged."""
    try:
        return urljoin(base, reference.strip())
    except ValueError:  # such as brackets around other text than an IPv6 address
        return reference


def _moment(date: str) -> datetime | None:
    """Parse a date of RSS, Atom or JSON Feed; None if it is not valid."""
    if numbers := _NUMBERS.fullmatch(date):  # "2020/1/10 14:33:00"
        year, month, day, rest = numbers.groups("")
        date = f"{year}-{month:0>2}-{day:0>2}{rest}"
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        try:
            moment = parsedate_to_datetime(date)
        except (ValueError, IndexError, TypeError, OverflowError):
            return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
