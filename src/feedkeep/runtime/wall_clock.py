"""The wall clock: the one place that asks the system for the time of day.

A service is built with a clock; `assembly` gives it this one. Besides, only the log and
the command line's own messages read it here.
"""

from __future__ import annotations

import time

from feedkeep.model import Stamp


def now() -> Stamp:
    """Return the present moment."""
    return Stamp(time.time_ns() // 1_000)
