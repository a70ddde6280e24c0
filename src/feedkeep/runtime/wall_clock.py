"""The wall clock: the only reader of the system's time of day.

Services get their clock as an argument, and `assembly` passes this one. Only the log and messages
of the command line also read it directly.
"""

from __future__ import annotations

import time

from feedkeep.model import Stamp


def now() -> Stamp:
    return Stamp(time.time_ns() // 1_000)
