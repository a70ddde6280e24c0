"""Times in whole seconds: read every format of apps, write a format that all apps read. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from feedkeep.model import Second
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.seconds import FROM_NOTHING

_LAST_SECOND = 253_402_300_799  # in the year 9999
_FIRST_MILLISECONDS = 100_000_000_000  # in seconds, the year 5138

_DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]+)?)?"
    r"\s*(?:[Zz]|([-+])([0-9]{2}):?([0-9]{2}))?"
)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]*)?")


def read_time(value: object) -> int | None:
    """Return the time of an action in seconds, or None if the value is not a time.

    Without an offset, a time is in UTC. Numbers are seconds, or milliseconds if they are large
    enough.
    """
    if isinstance(value, str):
        text = value.strip()
        if match := _DATE_TIME.fullmatch(text):
            return _second_of(match)
        value = float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < (_LAST_SECOND + 1) * 1_000:  # first: larger numbers cannot be divided
        return None
    second = int(value / 1_000 if value >= _FIRST_MILLISECONDS else value)
    return second if second <= _LAST_SECOND else None


def write_time(second: int) -> str:
    """Format a time in UTC without an offset: Kasts cannot read any other."""
    return datetime.fromtimestamp(second, UTC).replace(tzinfo=None).isoformat()


def read_since(text: str) -> Second:
    """Return an app's `since`; without one, the first second.

    Raises:
        InvalidInput: The text is not a number.
    """
    text = text.strip()
    if not text:
        return FROM_NOTHING
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    if not _NUMBER.fullmatch(digits):
        raise InvalidInput("`since` has to be a whole number of seconds.")
    return FROM_NOTHING if sign == "-" else Second(int(digits.partition(".")[0]))


def _second_of(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute = (int(match[group]) for group in range(1, 6))
    offset = timedelta(hours=int(match[8] or 0), minutes=int(match[9] or 0))
    try:
        moment = datetime(year, month, day, hour, minute, min(int(match[6] or 0), 59), tzinfo=UTC)
    except ValueError:
        return None
    second = int(moment.timestamp() - offset.total_seconds() * (-1 if match[7] == "-" else 1))
    return second if 0 <= second <= _LAST_SECOND else None
