"""Whether the wall clock can be trusted before data is deleted because of its age."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from feedkeep.model import Now
from feedkeep.rules.clock import DAY_US, SECOND_US

AFTER_START_SECONDS = 3_600.0
"""Time after the start in which the clock is not trusted: a machine may set it only then."""

AFTER_JUMP_SECONDS = 86_400.0
"""Time in which the clock is not trusted after a jump ahead by more than a day."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SteadyClock:
    """Compares the wall clock with a monotonic clock.

    A wall clock that runs years ahead for an hour, set by a wrong time server or by mistake, makes
    everything look old. A machine that slept looks the same, and is trusted a day later.
    """

    def __init__(self, now: Now, counted_seconds: Callable[[], float]) -> None:
        self._now = now
        self._counted_seconds = counted_seconds
        self._wall, self._counted = now(), counted_seconds()
        self._believed_from = self._counted + AFTER_START_SECONDS

    def is_believed(self) -> bool:
        """Whether the wall clock has kept pace with the monotonic clock for long enough.

        The whole difference since the last call counts as one jump.
        """
        wall, counted = self._now(), self._counted_seconds()
        jump_us = wall - self._wall - (counted - self._counted) * SECOND_US
        self._wall, self._counted = wall, counted
        if jump_us > DAY_US:
            self._believed_from = counted + AFTER_JUMP_SECONDS
            days = round(jump_us / DAY_US, 1)
            _log.warning("clock jumped ahead; keeping history for a day", days=days)
        elif jump_us < -DAY_US:  # corrected, or now too early, which deletes nothing
            self._believed_from = counted
        return counted >= self._believed_from
