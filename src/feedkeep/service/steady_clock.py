"""Whether the wall clock can be trusted, before something is deleted because it is old."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from feedkeep.model import Now
from feedkeep.rules.clock import DAY_US, SECOND_US

AFTER_START_SECONDS = 3_600.0
"""How long a process that starts does not believe it: a machine may set its clock only then."""

AFTER_JUMP_SECONDS = 86_400.0
"""How long it is not believed after it went ahead by more than a day at once."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SteadyClock:
    """Compares the wall clock with one that only counts, such as `time.monotonic`.

    A wall clock that goes years ahead for an hour, by a wrong time server or a slip of a hand,
    makes everything look old. A machine that slept looks the same, and is believed a day later.
    """

    def __init__(self, now: Now, counted_seconds: Callable[[], float]) -> None:
        self._now = now
        self._counted_seconds = counted_seconds
        self._wall, self._counted = now(), counted_seconds()
        self._believed_from = self._counted + AFTER_START_SECONDS

    def is_believed(self) -> bool:
        """Say whether the wall clock has gone on as the other one did, for long enough.

        What happened since the last call counts as one jump, if it was one.
        """
        wall, counted = self._now(), self._counted_seconds()
        jump_us = wall - self._wall - (counted - self._counted) * SECOND_US
        self._wall, self._counted = wall, counted
        if jump_us > DAY_US:
            self._believed_from = counted + AFTER_JUMP_SECONDS
            days = round(jump_us / DAY_US, 1)
            _log.warning("the clock went ahead; no history is forgotten for a day", days=days)
        elif jump_us < -DAY_US:  # it is back, or too early now, which deletes nothing
            self._believed_from = counted
        return counted >= self._believed_from
