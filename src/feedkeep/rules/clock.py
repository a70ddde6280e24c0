"""Times and days, and the next stamp of an account (contract, section 4). Pure."""

from __future__ import annotations

from feedkeep.model import Stamp
from feedkeep.rules.seconds import is_settled

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
DAY_US = 86_400 * SECOND_US

RESTORED_AHEAD_US = DAY_US
"""A day: the error of a wall clock that shows another time zone, or that was set by hand."""

SKEW_US = 60_000_000
"""Maximum difference between correct clocks of two machines."""


def shift(stamp: Stamp, us: int) -> Stamp:
    """Return the stamp `us` microseconds after `stamp`, or before it if `us` is negative."""
    return Stamp(stamp + us)


def minute_of(stamp: Stamp) -> Stamp:
    return shift(stamp, -(stamp % MINUTE_US))


def day_of(stamp: Stamp) -> Stamp:
    """Return the beginning of a stamp's UTC day."""
    return shift(stamp, -(stamp % DAY_US))


def next_stamp(last: Stamp, now: Stamp) -> Stamp:
    """Return the stamp after `last`: the wall clock, or `last` plus a microsecond where that lags.

    So no two changes of an account share a stamp (C4.1), even if the wall clock was set back. The
    last microsecond of a second is skipped: apps that continue from the second after it would never
    be sent the change.
    """
    stamp = now if now > last else shift(last, 1)
    return shift(stamp, 1) if is_settled(stamp) else stamp


def after_restore(last: Stamp, now: Stamp) -> Stamp:
    """Return the clock for a restored account, past every stamp used since the backup.

    Those stamps are only in the lost database. Its clock was ahead of the wall clock by seconds, or
    by the wall clock's error; the margin covers both. So an app that was given one of those stamps
    misses no later change.
    """
    return Stamp(max(last, now) + RESTORED_AHEAD_US)


def is_before_its_time(moment: Stamp, last: Stamp, now: Stamp) -> bool:
    """Whether changes made before a wall-clock time may have later stamps.

    An account's clock is ahead after a restore of the database, until the wall clock reaches it,
    and while a wall clock that was set back lags behind.
    """
    return shift(last, -RESTORED_AHEAD_US) < moment <= now < shift(last, -SKEW_US)
