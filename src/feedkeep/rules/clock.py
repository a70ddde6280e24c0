"""The next stamp of an account (contract, section 4). Pure."""

from __future__ import annotations

from feedkeep.model import Stamp


def next_stamp(last: Stamp, now: Stamp) -> Stamp:
    """Return the stamp after `last`: the wall clock, or one microsecond on where that lags.

    So no two changes of an account share a stamp, and a clock that was set back does no harm.
    """
    return max(now, last + 1)
