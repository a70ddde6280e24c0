"""What is sent where no route is reached, or none can answer any more."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.api.http import Reply
from feedkeep.api.problems import Refusal
from feedkeep.server.writing import head_of

_BODY_HEADERS = {b"content-length", b"transfer-encoding"}
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


def has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Say whether a request with these headers has a body."""
    return any(name in _BODY_HEADERS for name, _ in headers)


def written(refusal: Refusal) -> bytes:
    """Return a refusal as the bytes of an HTTP message."""
    reply = reply_of(refusal)
    return head_of(reply.status, reply.fields()) + (reply.body or b"")


def reply_of(refusal: Refusal) -> Reply:
    """Return a refusal with what every reply carries; the connection ends with it."""
    reply = refusal.reply()
    reply.headers |= _HEADERS
    return reply
