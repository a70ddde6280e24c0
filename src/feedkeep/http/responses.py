"""Responses that Starlette lacks: encoded JSON, and bodies in chunks whose failure is noticed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing

from starlette.responses import Response, StreamingResponse

WHOLE_BYTES = 262_144
"""How many bytes of a body that is made in chunks are made before the response begins."""

_CHUNK_BYTES = 64 * 1024
_JSON = (b"content-type", b"application/json")


class JsonResponse(Response):
    """JSON; its content is the bytes of it."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Set the headers; without any of its own, in a third of the time of Starlette's way."""
        if headers is None:
            length = str(len(self.body)).encode()
            self.raw_headers = [(b"content-length", length), _JSON]
        else:
            super().init_headers(headers)


async def streamed(chunks: AsyncGenerator[bytes, None], *, is_head: bool) -> Response:
    """Return JSON whose chunks are made while it is sent; a short one is made before.

    For HEAD, the chunks after the first bytes are not made. Raises whatever fails while the first
    `WHOLE_BYTES` are made. If a later chunk fails, the server cuts the connection: a client must
    not take half a list for the whole.
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
    """Return a body that all clients share, in slices: no client holds a copy of all of it."""
    return StreamingResponse(_slices(body), headers=headers | {"Content-Length": str(len(body))})


async def _slices(body: bytes) -> AsyncIterator[bytes]:
    for first in range(0, len(body), _CHUNK_BYTES):
        yield body[first : first + _CHUNK_BYTES]
