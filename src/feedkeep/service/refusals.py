"""What other servers refuse: too many of these would make this service their attacker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from feedkeep.security.throttle import Limits, Throttle


class Refusals:
    """Counts what is refused by its own limits, apart from wrong passwords of this service."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle

    @contextmanager
    def counted(self, limits: Limits, refusal: type[Exception]) -> Iterator[None]:
        """Count what is asked for within this context if it ends with a `refusal`.

        Raises:
            TooManyAttempts: One of the limits is reached; nothing is asked for.
        """
        attempt, is_refused = self._throttle.begin_by(limits, time.monotonic()), False
        try:
            yield
        except refusal:
            is_refused = True
            raise
        finally:
            self._throttle.settle(attempt, is_right=not is_refused)
