"""The query of a list and the links between its pages (contract, section 6)."""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.datastructures import QueryParams

from feedkeep.errors import InvalidInput
from feedkeep.model import Page, PageRequest, Stamp, T
from feedkeep.stamps import read_stamp, write_stamp

MAX_PAGE = 10**9
MAX_PER_PAGE = 1_000
DEFAULT_PER_PAGE = 50
BEGINNING = Stamp(-1)
"""Before every stamp: a list without `since` starts after it."""
END = Stamp(253_402_300_799_999_999)
"""The last moment of the year 9999."""

_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")


def page_request(query: QueryParams) -> PageRequest:
    """Return which page a query asks for.

    Only `next` links have `after`. A page that is counted from `since` would skip an entry whenever
    one before it changes, and so moves to the end.

    Raises:
        InvalidInput: A value is empty, given twice, or out of its range.
    """
    return PageRequest(
        since=_one(query, "since", _read_since, BEGINNING),
        after=_one(query, "after", _read_since, None),
        page=_one(query, "page", lambda text: whole_number(text, MAX_PAGE), 1),
        per_page=_one(
            query, "per_page", lambda text: whole_number(text, MAX_PER_PAGE), DEFAULT_PER_PAGE
        ),
    )


def next_url(base: str, asked: PageRequest, page: Page) -> str | None:
    """Return the link to the entries that follow the page, or None on the last one."""
    if not page.has_more:
        return None
    return f"{base}?{_query(asked, asked.page + 1, page.views[-1].entry.revision)}"


def previous_url(base: str, asked: PageRequest) -> str | None:
    """Return the link to the page before, or None on the first one."""
    return f"{base}?{_query(asked, asked.page - 1, None)}" if asked.page > 1 else None


def whole_number(text: str, greatest: int) -> int:
    """Return the whole number from 1 to `greatest` that `text` has.

    Raises:
        InvalidInput: `text` is not such a number.
    """
    number = int(text) if _WHOLE_NUMBER.fullmatch(text) else 0
    if not 1 <= number <= greatest:
        raise InvalidInput(f"A whole number from 1 to {greatest:,} is expected.")
    return number


def _one(query: QueryParams, name: str, read: Callable[[str], T], default: T) -> T:
    values = query.getlist(name)
    if not values:
        return default
    if len(values) > 1:
        raise InvalidInput(f"The query has {name} more than once.")
    try:
        return read(values[0])
    except InvalidInput as reason:
        raise InvalidInput(f"The query's {name}: {reason}") from reason


def _read_since(text: str) -> Stamp:
    """Return a stamp in a year that can be written: an offset may lead out of these."""
    return min(max(read_stamp(text), BEGINNING), END)


def _query(asked: PageRequest, page: int, after: Stamp | None) -> str:
    since = "" if asked.since == BEGINNING else f"since={write_stamp(asked.since)}&"
    until = "" if after is None else f"&after={write_stamp(after)}"
    return f"{since}page={page}&per_page={asked.per_page}{until}"
