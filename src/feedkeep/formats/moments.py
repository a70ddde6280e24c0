"""Times as people write them: a date-time, a day, or a time ago. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from feedkeep.model import Stamp
from feedkeep.model.errors import InvalidInput
from feedkeep.model.stamps import read_stamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_LOCAL_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
_AGO = re.compile(r"([0-9]{1,9}) +(minute|hour|day|week)s? +ago", re.IGNORECASE)
_UNITS_US = {
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_BEGINNING = Stamp(0)


def read_moment(text: str, now: Stamp, with_zone: Callable[[datetime], datetime]) -> Stamp:
    """Parse a time; never before 1970.

    Accepts RFC 3339, "2026-11-20" (the start of that day), "2026-11-20 18:00", and a number of
    minutes, hours, days or weeks ago. `with_zone` adds the writer's time zone to a naive date-time.

    Raises:
        InvalidInput: The text has another format.
    """
    words = text.strip()
    if ago := _AGO.fullmatch(words):
        return max(Stamp(now - int(ago[1]) * _UNITS_US[ago[2].lower()]), _BEGINNING)
    for written in _LOCAL_FORMATS:
        try:
            local = with_zone(datetime.strptime(words, written))  # noqa: DTZ007 - it gets its zone here
            return max(Stamp((local - _EPOCH) // _US), _BEGINNING)
        except (ValueError, OverflowError):  # another format, or too early for time zones
            continue
    try:
        return max(read_stamp(words), _BEGINNING)
    except InvalidInput:
        raise InvalidInput(
            'Not a moment: write one such as "2 days ago", "2026-11-20", "2026-11-20 18:00"'
            " or 2026-11-20T18:00:00Z."
        ) from None
