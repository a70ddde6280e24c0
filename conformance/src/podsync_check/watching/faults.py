"""Faults that can be injected into requests."""

from __future__ import annotations

from enum import StrEnum

SLOW_SECONDS = 15.0
"""Duration of a slow reply: longer than most apps wait without a message."""

MAX_PENDING = 100
"""Maximum number of pending faults."""


class Fault(StrEnum):
    """A fault of one request; the value is its name on the page.

    Attributes:
        UNAVAILABLE: 503 with `Retry-After`; the request is not carried out.
        TOO_MANY: 429 with `Retry-After`; the request is not carried out.
        LONG_HEADERS: 431; the request is not carried out.
        MOVED: 301 to the same path with `moved=1`; the request is not carried out.
        EXPIRED: 401, as for an expired token; the request is not carried out.
        LOST: The request is carried out, but the reply never arrives.
        TORN: The request is carried out, but the reply is truncated.
        SLOW: The reply takes `SLOW_SECONDS`.
        UNCHANGED: 304 to the next request with `If-None-Match`.
    """

    UNAVAILABLE = "unavailable"
    TOO_MANY = "too-many"
    LONG_HEADERS = "long-headers"
    MOVED = "moved"
    EXPIRED = "expired"
    LOST = "lost"
    TORN = "torn"
    SLOW = "slow"
    UNCHANGED = "unchanged"


WHAT_HAPPENS = {
    Fault.UNAVAILABLE: "503, Retry-After: 2; without effect",
    Fault.TOO_MANY: "429, Retry-After: 3; without effect",
    Fault.LONG_HEADERS: "431; without effect",
    Fault.MOVED: "301 to the same address with moved=1; without effect",
    Fault.EXPIRED: "401, as for an expired token; without effect",
    Fault.LOST: "it takes effect, and the connection is cut before the response",
    Fault.TORN: "it takes effect, and the connection is cut during the response",
    Fault.SLOW: f"the response takes {SLOW_SECONDS:.0f} seconds",
    Fault.UNCHANGED: "304 to the next GET with If-None-Match",
}
"""Effect of each fault, as shown on the page."""
