"""Trace ids from the `traceparent` header (W3C Trace Context)."""

from __future__ import annotations

import re

_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?P<trace_id>(?!0{32})[0-9a-f]{32})"
    r"-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)


def trace_id_of(traceparent: str) -> str:
    """Return the trace id; "" if the header is empty or invalid.

    Later versions may append fields (section 4.3).
    """
    if not traceparent:
        return ""
    found = _TRACEPARENT.match(traceparent)
    if found is None:
        return ""
    rest = traceparent[found.end() :]
    is_valid = rest.startswith("-") if rest and found["version"] != "00" else not rest
    return found["trace_id"] if is_valid else ""
