"""Selection of backups to keep: the last of each of the newest days and weeks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

from feedkeep.model import Stamp
from feedkeep.rules.clock import DAY_US

_THURSDAY = 3
"""Weekday of 1970-01-01, from Monday."""


def superseded(
    made: Collection[Stamp], newest: Stamp, keep_daily: int, keep_weekly: int
) -> set[Stamp]:
    """Return the backups to delete; `made` has the time of each.

    Kept are the last backup of each of the `keep_daily` newest days with backups, and of each of
    the `keep_weekly` newest weeks. Days are in UTC, and weeks begin on Monday. `newest`, the backup
    just made, is kept even if the clock was set back.
    """
    kept = {newest}
    kept |= _last_of_each(made, day_number, keep_daily)
    kept |= _last_of_each(made, week_of, keep_weekly)
    return set(made) - kept


def day_number(stamp: Stamp) -> int:
    return stamp // DAY_US


def week_of(stamp: Stamp) -> int:
    """Return the number of weeks since the epoch's week."""
    return (day_number(stamp) + _THURSDAY) // 7


def _last_of_each(
    made: Collection[Stamp], period: Callable[[Stamp], int], count: int
) -> set[Stamp]:
    last = {period(stamp): stamp for stamp in sorted(made)}
    return set(sorted(last.values(), reverse=True)[:count])
