"""The next stamp of an account (contract, section 4). Pure."""

from __future__ import annotations

from feedkeep.model import Stamp

RESTORED_AHEAD_US = 86_400_000_000
"""A day: as far as a wall clock is off that keeps another zone's time, or was set by hand."""


def later(stamp: Stamp, us: int) -> Stamp:
    """Return the moment so many microseconds after another; before it, if they are less than 0."""
    return Stamp(stamp + us)


def next_stamp(last: Stamp, now: Stamp) -> Stamp:
    """Return the stamp after `last`: the wall clock, or one microsecond on where that lags.

    So no two changes of an account share a stamp, and a clock that was set back does no harm.
    """
    return max(now, later(last, 1))


def after_restore(last: Stamp, now: Stamp) -> Stamp:
    """Return where a clock goes that comes from a backup: past all it has given out since.

    What it had given out is in the database that was lost, and nowhere else. It was ahead of the
    wall clock by seconds, or by as much as that was wrong; so the margin is on top of both. An app
    that heard of a later time, and goes on from there, then misses nothing that is changed now.
    """
    return Stamp(max(last, now) + RESTORED_AHEAD_US)
