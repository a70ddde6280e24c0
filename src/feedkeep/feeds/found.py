"""Values found in a document of any format: the best valid value of each field."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import reduce
from urllib.parse import urljoin

from feedkeep.feeds.fields import Field, value_of

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
