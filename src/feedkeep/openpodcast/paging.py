"""Queries of lists, and links between their pages (contract, sections 6 and 9)."""

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
"""The last microsecond of the year 9999."""
MAX_EXACT = 2**53 - 1
"""The greatest integer that every JSON parser reads exactly; timestamps exceed it from 2255 on."""

_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")


def page_request(query: QueryParams) -> PageRequest:
    """Parse the query of a list (C6.2).

    Only `next` links have `after` and `epoch` (C6.8). Pages counted from `since` would skip an
    entry whenever an earlier one changes and so moves to the end.

    Raises:
        InvalidInput: A value is empty, repeated or out of range.
    """
    return PageRequest(
        since=one_value(query, "since", read_moment, BEGINNING),
        after=one_value(query, "after", read_moment, None),
        page=one_value(query, "page", lambda text: whole_number(text, MAX_PAGE), 1),
        per_page=per_page(query),
        epoch=one_value(query, "epoch", str, None),
    )


def per_page(query: QueryParams) -> int:
    """Parse the page size; raises as `page_request` does."""
    return one_value(
        query, "per_page", lambda text: whole_number(text, MAX_PER_PAGE), DEFAULT_PER_PAGE
    )


def history_page(query: QueryParams) -> tuple[Stamp | None, int]:
    """Parse the query of a history: the change before which the page ends, and the page size.

    Without a change (None), the page begins with the newest.

    Raises:
        InvalidInput: A value is empty, repeated or out of range.
    """
    return one_value(query, "before", read_change, None), per_page(query)


def next_url(base: str, asked: PageRequest, page: Page, epoch: str) -> str | None:
    """Return the link to the next page; None on the last page."""
    if not page.has_more:
        return None
    query = _query(asked, asked.page + 1, page.views[-1].entry.revision)
    return f"{base}?{query}&epoch={epoch}"


def previous_url(base: str, asked: PageRequest) -> str | None:
    """Return the link to the previous page; None on the first page."""
    return f"{base}?{_query(asked, asked.page - 1, None)}" if asked.page > 1 else None


def whole_number(text: str, greatest: int) -> int:
    """Parse a whole number from 1 to `greatest`.

    Raises:
        InvalidInput: `text` is not such a number.
    """
    number = int(text) if _WHOLE_NUMBER.fullmatch(text) else 0
    if not 1 <= number <= greatest:
        raise InvalidInput(f"A whole number from 1 to {greatest:,} is expected.")
    return number


def read_change(text: str) -> Stamp:
    """Parse the timestamp that identifies a change.

    Raises:
        InvalidInput: `text` is not a valid timestamp.
    """
    return Stamp(whole_number(text, MAX_EXACT))


def read_yes_or_no(text: str) -> bool:
    """Parse a boolean.

    Raises:
        InvalidInput: `text` is neither "true" nor "false".
    """
    if text not in {"true", "false"}:
        raise InvalidInput("true or false is expected.")
    return text == "true"


def one_value(query: QueryParams, name: str, read: Callable[[str], T], default: T) -> T:
    """Return the parsed value of a query parameter, or the default.

    Raises:
        InvalidInput: It is repeated, or `read` rejects it.
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
    """Parse a date-time, clamped to the range from `BEGINNING` to `END`.

    Raises:
        InvalidInput: `text` is not a date-time.
    """
    return min(max(read_stamp(text), BEGINNING), END)


def _query(asked: PageRequest, page: int, after: Stamp | None) -> str:
    since = "" if asked.since == BEGINNING else f"since={write_stamp(asked.since)}&"
    until = "" if after is None else f"&after={write_stamp(after)}"
    return f"{since}page={page}&per_page={asked.per_page}{until}"
