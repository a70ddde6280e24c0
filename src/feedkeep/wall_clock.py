"""The wall clock: the one place that asks the system for the time of day."""

from __future__ import annotations

import time

from feedkeep.model import Stamp


def now() -> Stamp:
    """Return the present moment."""
    return Stamp(time.time_ns() // 1_000)
