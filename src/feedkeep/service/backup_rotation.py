"""Which backups are kept: the last one of each of the newest days and weeks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

from feedkeep.model import Stamp
from feedkeep.rules.clock import DAY_US

_THURSDAY = 3
"""The day of 1970-01-01, counted from a Monday."""


def superseded(
    made: Collection[Stamp], newest: Stamp, keep_daily: int, keep_weekly: int
) -> set[Stamp]:
    """Return which backups are not needed any more, of those that were made at these moments.

    What is kept is the last backup of each of the `keep_daily` newest days that have one, and of
    each of the `keep_weekly` newest such weeks. A day is one of UTC, and a week begins on Monday.
    `newest` is the one that has just been made: it stays, also where the clock was set back.
    """
    kept = {newest}
    kept |= _last_of_each(made, day_number, keep_daily)
    kept |= _last_of_each(made, week_of, keep_weekly)
    return set(made) - kept


def day_number(stamp: Stamp) -> int:
    """Return the day that a moment is in, counted from the epoch."""
    return stamp // DAY_US


def week_of(stamp: Stamp) -> int:
    """Return the week that a moment is in, counted from that of the epoch."""
    return (day_number(stamp) + _THURSDAY) // 7


def _last_of_each(
    made: Collection[Stamp], period: Callable[[Stamp], int], count: int
) -> set[Stamp]:
    last = {period(stamp): stamp for stamp in sorted(made)}
    return set(sorted(last.values(), reverse=True)[:count])
