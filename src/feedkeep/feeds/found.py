"""Fields found in a document of any format, validated: the best value of each."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import reduce
from itertools import islice
from typing import NamedTuple
from urllib.parse import urljoin

from feedkeep.feeds.plain_text import plain_text
from feedkeep.model import Episode, Stamp
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.episode_actions import MAX_SECONDS
from feedkeep.rules.episodes import digest_of_file, digest_of_guid
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
    if len(text) > limit:  # escaping would take long
        return ""
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


_MAX_MARKUP_OF_TITLE = 2_000
_MAX_EPISODE_LINK = 500
_DURATION = re.compile(r"(?:(?:([0-9]{1,4}):)?([0-9]{1,6}):)?([0-9]{1,7})(?:[.,][0-9]*)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WITH_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_NEVER = datetime.min.replace(tzinfo=UTC)


class FoundItem(NamedTuple):
    """Texts of an item, as they are in the document; "" where missing.

    Attributes:
        id: Its guid, or else the URL of its file.
        date: Time of publication.
        link: URL of its web page.
        file: URL of its audio or video file.
        duration: Length, in seconds or as "1:00:00".
        bases: Bases of relative URLs, as in `FoundFields.offer_url`.
    """

    id: str
    date: str
    title: str = ""
    link: str = ""
    file: str = ""
    duration: str = ""
    bases: tuple[str, ...] = ()


class FoundFields:
    """Collects the values in a document."""

    def __init__(self) -> None:
        self._best: dict[Field, tuple[int, str]] = {}
        self._offers: Counter[Field] = Counter()
        self._items = 0
        self._first: list[FoundItem] = []
        self._last: deque[FoundItem] = deque(maxlen=MAX_ITEMS)
        self._moments: dict[str, datetime | None] = {"": None}

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

    def add_item(self, item: FoundItem) -> None:
        """Add the next item of the document; the first and last `MAX_ITEMS` are kept."""
        self._items += 1
        (self._first if self._items <= MAX_ITEMS else self._last).append(item)

    def newest_items(self) -> Sequence[str]:
        """Return the ids of at most `MAX_ITEMS` items, from the newer end of the document."""
        ids = [item.id for item in self._from_newer_end() if item.id]
        return ids[:MAX_ITEMS]

    def newest_date(self, until: datetime) -> datetime | None:
        """Return the newest date of the kept items; None without one.

        Dates after `until` are ignored: some feeds announce future items, or are wrong.
        """
        moments = map(self._published, (*self._first, *self._last))
        return max((one for one in moments if one is not None and one <= until), default=None)

    def newest_episodes(self, limit: int, until: datetime) -> list[Episode]:
        """Return up to `limit` of the kept items with a title, by date; later ones are ignored.

        Items with one date, or without, are in the order of the document, from its newer end.
        """
        dated = [(self._published(item) or _NEVER, item) for item in self._from_newer_end()]
        past = [(moment, item) for moment, item in dated if moment <= until]
        past.sort(key=lambda one: one[0], reverse=True)
        episodes = (_episode(item, moment) for moment, item in past)
        return list(islice((one for one in episodes if one.title), limit))

    def _from_newer_end(self) -> Sequence[FoundItem]:
        kept = [*self._first, *self._last]
        dates = [item.date for item in kept if item.date]
        if dates:
            begun, ended = self._moment(dates[0]), self._moment(dates[-1])
            if begun is not None and ended is not None and begun < ended:
                kept.reverse()
        return kept

    def _published(self, item: FoundItem) -> datetime | None:
        return self._moment(item.date)

    def _moment(self, date: str) -> datetime | None:
        if date not in self._moments:
            self._moments[date] = _moment(date)
        return self._moments[date]


def _episode(item: FoundItem, moment: datetime) -> Episode:
    file, link = (_resolved(item.bases, url) for url in (item.file, item.link))
    # Some link to the file, whose URL may be a secret.
    is_of_file = _without_query(link) == _without_query(file)
    return Episode(
        title=plain_text(item.title[:_MAX_MARKUP_OF_TITLE], MAX_TITLE),
        published=None if moment is _NEVER else stamp_of(moment),
        duration_seconds=_seconds(item.duration),
        link="" if is_of_file else absolute_url(link, _MAX_EPISODE_LINK),
        guid_hash=digest_of_guid(item.id) if item.id else "",
        file_hash=digest_of_file(file) if file else "",
    )


def _without_query(url: str) -> str:
    return url.partition("://")[2].partition("?")[0]


def stamp_of(moment: datetime) -> Stamp:
    return Stamp((moment - _EPOCH) // timedelta(microseconds=1))


def _seconds(duration: str) -> int | None:
    """Return a length in seconds; None if it is missing, zero or not valid."""
    parts = _DURATION.fullmatch(duration)
    if parts is None:
        return None
    hours, minutes, seconds = (int(part) for part in parts.groups("0"))
    total = (60 * hours + minutes) * 60 + seconds
    return total if 0 < total <= MAX_SECONDS else None


def _resolved(bases: Sequence[str], reference: str) -> str:
    """Resolve a reference; absolute URLs and "" are returned unchanged, as apps send them."""
    if not reference or _WITH_SCHEME.match(reference):
        return reference
    return reduce(_joined, (*bases, reference))


def _joined(base: str, reference: str) -> str:
    """Resolve a reference; one that is not valid is returned unchanged."""
    try:
        return urljoin(base, reference.strip())
    except ValueError:  # such as brackets around other text than an IPv6 address
        return reference


def _moment(date: str) -> datetime | None:
    """Parse a date of RSS, Atom or JSON Feed; None if it is not valid, or before 1970."""
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
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment if moment >= _EPOCH else None
