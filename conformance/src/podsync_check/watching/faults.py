"""What can be made to go wrong with the next requests."""

from __future__ import annotations

from enum import StrEnum

SLOW_SECONDS = 15.0
"""How long a slow reply takes: longer than most apps wait without saying so."""

MAX_PENDING = 100
"""How many requests faults can be kept for."""


class Fault(StrEnum):
    """A fault of one request, as its page calls it.

    Attributes:
        UNAVAILABLE: 503 with `Retry-After`; nothing is done.
        TOO_MANY: 429 with `Retry-After`; nothing is done.
        EXPIRED: 401, as with a token that ended; nothing is done.
        LOST: It is done, and the reply never arrives.
        TORN: It is done, and the reply ends in the middle.
        SLOW: The reply takes `SLOW_SECONDS`.
        UNCHANGED: 304 to the next request with `If-None-Match`.
    """

    UNAVAILABLE = "unavailable"
    TOO_MANY = "too-many"
    EXPIRED = "expired"
    LOST = "lost"
    TORN = "torn"
    SLOW = "slow"
    UNCHANGED = "unchanged"


WHAT_HAPPENS = {
    Fault.UNAVAILABLE: "503, Retry-After: 2; nothing is done",
    Fault.TOO_MANY: "429, Retry-After: 3; nothing is done",
    Fault.EXPIRED: "401, as with a token that ended; nothing is done",
    Fault.LOST: "it is done, and the connection is cut before the response",
    Fault.TORN: "it is done, and the connection is cut in the middle of the response",
    Fault.SLOW: f"the response takes {SLOW_SECONDS:.0f} seconds",
    Fault.UNCHANGED: "304 to the next GET with If-None-Match",
}
"""What each fault does to a request, in the words of the page."""
