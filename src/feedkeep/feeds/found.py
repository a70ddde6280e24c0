"""What was found in a document of any format, before it is made tidy."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import reduce
from urllib.parse import urljoin

MAX_ITEMS = 50


class Field(Enum):
    """What is to be found out about a feed."""

    TITLE = "title"
    DESCRIPTION = "description"
    SITE_URL = "site_url"
    PICTURE_URL = "picture_url"
    LANGUAGE = "language"
    AUTHOR = "author"
    PODCAST_GUID = "podcast_guid"
    LOCKED = "locked"
    NEW_FEED_URL = "new_feed_url"


class Found:
    """Collects what a document says of its feed."""

    def __init__(self) -> None:
        self._best: dict[Field, tuple[int, str]] = {}
        self._first: list[str] = []
        self._last: deque[str] = deque(maxlen=MAX_ITEMS)
        self._first_date = self._last_date = ""

    def offer(self, field: Field, rank: int, text: str) -> None:
        """Keep a text for a field, unless there is one of the same or a lower rank already."""
        text = text.strip()
        known = self._best.get(field)
        if text and (known is None or rank < known[0]):
            self._best[field] = rank, text

    def offer_url(self, field: Field, rank: int, bases: Sequence[str], reference: str) -> None:
        """Keep a URL for a field as `offer` does; each of the bases is relative to the one before.

        To join URLs takes long, so only one that is kept is joined.
        """
        known = self._best.get(field)
        if reference.strip() and (known is None or rank < known[0]):
            self.offer(field, rank, reduce(_joined, (*bases, reference)))

    def text(self, field: Field) -> str:
        """Return the best text that there is for a field, or ""."""
        return self._best.get(field, (0, ""))[1]

    def add_item(self, item_id: str, date: str) -> None:
        """Add the next item of the document; either may be ""."""
        if date:
            self._first_date = self._first_date or date
            self._last_date = date
        if item_id:
            if len(self._first) < MAX_ITEMS:
                self._first.append(item_id)
            self._last.append(item_id)

    def newest_items(self) -> Sequence[str]:
        """Return the ids of at most 50 items from that end of the document that is newer."""
        begun, ended = _moment(self._first_date), _moment(self._last_date)
        if begun is not None and ended is not None and begun < ended:
            return list(reversed(self._last))
        return self._first


def _joined(base: str, reference: str) -> str:
    """Return the URL that a reference stands for; the reference itself if it is none."""
    try:
        return urljoin(base, reference.strip())
    except ValueError:  # such as brackets without an IPv6 address in them
        return reference


def _moment(date: str) -> datetime | None:
    """Return a moment as RSS writes it, or as Atom and JSON Feed do; None if it is neither."""
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        try:
            moment = parsedate_to_datetime(date)
        except (ValueError, IndexError, TypeError, OverflowError):
            return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
