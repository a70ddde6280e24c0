"""Responses to requests that reach no route, or whose route cannot answer any more."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.http.refusal import Refusal
from feedkeep.http.responses import JsonResponse
from feedkeep.http.serving.writing import head_of

_BODY_HEADERS = {b"content-length", b"transfer-encoding"}
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


def has_body(names: Iterable[bytes]) -> bool:
    """Say whether a request with headers of these names has a body."""
    return not _BODY_HEADERS.isdisjoint(names)


def is_only_chunked(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Say whether a body comes in chunks and is coded in no other way."""
    codings = [value for name, value in headers if name == b"transfer-encoding"]
    return b",".join(codings).strip().lower() == b"chunked"


def written(refusal: Refusal) -> bytes:
    """Return a refusal as the bytes of an HTTP message."""
    response = response_of(refusal)
    return head_of(response.status_code, response.raw_headers) + bytes(response.body)


def response_of(refusal: Refusal) -> JsonResponse:
    """Return a refusal with the headers of every response; the connection is closed after it."""
    response = refusal.response()
    response.headers.update(_HEADERS)
    return response
