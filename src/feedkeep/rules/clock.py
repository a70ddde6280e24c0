"""Moments and days, and the next stamp of an account (contract, section 4). Pure."""

from __future__ import annotations

from feedkeep.model import Stamp
from feedkeep.rules.seconds import is_settled

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
DAY_US = 86_400 * SECOND_US

RESTORED_AHEAD_US = DAY_US
"""A day: the error of a wall clock that shows another time zone, or that was set by hand."""

SKEW_US = 60_000_000
"""How much clocks of machines differ that are right."""


def later(stamp: Stamp, us: int) -> Stamp:
    """Return the stamp `us` microseconds after another, or before it if `us` is negative."""
    return Stamp(stamp + us)


def minute_of(stamp: Stamp) -> Stamp:
    """Return the beginning of the minute of a stamp."""
    return later(stamp, -(stamp % MINUTE_US))


def day_of(stamp: Stamp) -> Stamp:
    """Return the beginning of the UTC day of a stamp."""
    return later(stamp, -(stamp % DAY_US))


def next_stamp(last: Stamp, now: Stamp) -> Stamp:
    """Return the stamp after `last`: the wall clock, or one microsecond on where that lags.

    So no two changes of an account share a stamp (C4.1), and a clock that was set back does no
    harm. No change has a stamp on which a settled clock stands: apps that go on from the second
    after it would never be sent that change.
    """
    stamp = now if now > last else later(last, 1)
    return later(stamp, 1) if is_settled(stamp) else stamp


def after_restore(last: Stamp, now: Stamp) -> Stamp:
    """Return where to set a clock that comes from a backup: past every stamp given out since then.

    Those stamps are in the database that was lost, and nowhere else. The clock was ahead of the
    wall clock by seconds, or by as much as the wall clock was wrong; the margin covers both. An app
    that was given one of those stamps, and goes on from there, then misses no later change.
    """
    return Stamp(max(last, now) + RESTORED_AHEAD_US)


def is_before_its_time(moment: Stamp, last: Stamp, now: Stamp) -> bool:
    """Say whether what was changed before a moment of the wall clock may have a later stamp.

    That is so where an account's clock is ahead, from when its database was restored until the wall
    clock has come as far; and for as long as a clock lags that was set back.
    """
    return later(last, -RESTORED_AHEAD_US) < moment <= now < later(last, -SKEW_US)
