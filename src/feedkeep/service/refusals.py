"""Limit refused requests to other servers, so that this service cannot be used to attack them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from feedkeep.security.throttle import Limits, Throttle


class Refusals:
    """Counts refusals by their own limits, separate from wrong passwords of this service."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle

    @contextmanager
    def counted(self, limits: Limits, refusal: type[Exception]) -> Iterator[None]:
        """Context manager: count the request if it ends with a `refusal`.

        Raises:
            TooManyAttempts: A limit is reached; the request must not be sent.
        """
        attempt, is_refused = self._throttle.begin_by(limits, time.monotonic()), False
        try:
            yield
        except refusal:
            is_refused = True
            raise
        finally:
            self._throttle.settle(attempt, is_right=not is_refused)
