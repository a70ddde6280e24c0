"""The queries of lists and the links between their pages (contract, sections 6 and 9)."""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.datastructures import QueryParams

from feedkeep.model import Page, PageRequest, Stamp, T
from feedkeep.model.errors import InvalidInput
from feedkeep.model.stamps import read_stamp, write_stamp
from feedkeep.rules.database_restores import BEGINNING

MAX_PAGE = 10**9
MAX_PER_PAGE = 1_000
DEFAULT_PER_PAGE = 50
END = Stamp(253_402_300_799_999_999)
"""The last moment of the year 9999."""
MAX_EXACT = 2**53 - 1
"""The greatest whole number that every JSON parser reads exactly, as all stamps are until 2255."""

_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")


def page_request(query: QueryParams) -> PageRequest:
    """Return which page a query asks for (C6.2).

    Only `next` links have `after` and `epoch` (C6.8). A page that is counted from `since` would
    skip an entry whenever one before it changes, and so moves to the end.

    Raises:
        InvalidInput: A value is empty, given twice, or out of its range.
    """
    return PageRequest(
        since=one_value(query, "since", read_moment, BEGINNING),
        after=one_value(query, "after", read_moment, None),
        page=one_value(query, "page", lambda text: whole_number(text, MAX_PAGE), 1),
        per_page=per_page(query),
        epoch=one_value(query, "epoch", str, None),
    )


def per_page(query: QueryParams) -> int:
    """Return how many items a page is to have at most; raises as `page_request` does."""
    return one_value(
        query, "per_page", lambda text: whole_number(text, MAX_PER_PAGE), DEFAULT_PER_PAGE
    )


def history_page(query: QueryParams) -> tuple[Stamp | None, int]:
    """Return before which change a page of a history ends, None at the newest, and how many it has.

    Raises:
        InvalidInput: A value is empty, given twice, or out of its range.
    """
    return one_value(query, "before", read_change, None), per_page(query)


def next_url(base: str, asked: PageRequest, page: Page, epoch: str) -> str | None:
    """Return the link to the entries that follow the page, or None on the last one."""
    if not page.has_more:
        return None
    query = _query(asked, asked.page + 1, page.views[-1].entry.revision)
    return f"{base}?{query}&epoch={epoch}"


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


def read_change(text: str) -> Stamp:
    """Return the stamp by which a change is known.

    Raises:
        InvalidInput: `text` is no whole number of that range.
    """
    return Stamp(whole_number(text, MAX_EXACT))


def read_yes_or_no(text: str) -> bool:
    """Return whether a text says true.

    Raises:
        InvalidInput: It says neither true nor false.
    """
    if text not in {"true", "false"}:
        raise InvalidInput("true or false is expected.")
    return text == "true"


def one_value(query: QueryParams, name: str, read: Callable[[str], T], default: T) -> T:
    """Return the value that a query has under a name, or the default.

    Raises:
        InvalidInput: It is given twice, or `read` does not take it.
    """
    values = query.getlist(name)
    if not values:
        return default
    if len(values) > 1:
        raise InvalidInput(f"The query has {name} more than once.")
    try:
        return read(values[0])
    except InvalidInput as reason:
        raise InvalidInput(f"The query's {name}: {reason}") from reason


def read_moment(text: str) -> Stamp:
    """Return a stamp in a year that can be written: an offset may lead out of these.

    Raises:
        InvalidInput: `text` is not a date-time.
    """
    return min(max(read_stamp(text), BEGINNING), END)


def _query(asked: PageRequest, page: int, after: Stamp | None) -> str:
    since = "" if asked.since == BEGINNING else f"since={write_stamp(asked.since)}&"
    until = "" if after is None else f"&after={write_stamp(after)}"
    return f"{since}page={page}&per_page={asked.per_page}{until}"
