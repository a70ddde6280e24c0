"""Responses that Starlette lacks: encoded JSON, and streamed bodies."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing

from starlette.responses import Response, StreamingResponse

WHOLE_BYTES = 262_144
"""Maximum size of the part of a streamed body that is produced before the response begins."""

_CHUNK_BYTES = 64 * 1024
_JSON = (b"content-type", b"application/json")


class JsonResponse(Response):
    """A response whose content is already encoded JSON."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Set the headers; three times as fast as Starlette if `headers` is None."""
        if headers is None:
            length = str(len(self.body)).encode()
            self.raw_headers = [(b"content-length", length), _JSON]
        else:
            super().init_headers(headers)


async def streamed(chunks: AsyncGenerator[bytes, None], *, is_head: bool) -> Response:
    """Return a streamed JSON response, or a plain one if the body is short.

    For HEAD, only the beginning is produced. Errors raised in the first `WHOLE_BYTES` propagate. If
    a later chunk fails, the server cuts the connection, so that no client takes the part for the
    whole.
    """
    first = bytearray()
    async for chunk in chunks:
        first += chunk
        if len(first) >= WHOLE_BYTES:
            break
    else:
        return JsonResponse(bytes(first))
    if is_head:
        await chunks.aclose()
    return StreamingResponse(_with_first(bytes(first), chunks), media_type=JsonResponse.media_type)


async def _with_first(
    first: bytes, others: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(others):
        yield first
        async for chunk in others:
            yield chunk


def shared(body: bytes, headers: dict[str, str]) -> Response:
    """Return a response that sends a shared body in slices, without a copy per client."""
    return StreamingResponse(_slices(body), headers=headers | {"Content-Length": str(len(body))})


async def _slices(body: bytes) -> AsyncIterator[bytes]:
    for first in range(0, len(body), _CHUNK_BYTES):
        yield body[first : first + _CHUNK_BYTES]
