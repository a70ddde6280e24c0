"""What is sent where no route is reached, or none can answer any more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from http import HTTPStatus

from feedkeep.api.http import App, Receive, Reply, Scope, Send
from feedkeep.api.problems import STOPPING, Refusal

_BODY_HEADERS = {b"content-length", b"transfer-encoding"}
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


def answered(app: App) -> App:
    """Return `app` so that a request ends as promised.

    Cut by the server, which stops and has waited long enough, a request is told to come back
    (contract, section 7).
    """

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            with contextlib.suppress(RuntimeError):  # the reply has begun already
                await _reply(STOPPING).send(send)

    return call


def has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Say whether a request with these headers has a body."""
    return any(name in _BODY_HEADERS for name, _ in headers)


def written(refusal: Refusal) -> bytes:
    """Return a refusal as the bytes of an HTTP message."""
    reply, status = _reply(refusal), HTTPStatus(refusal.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name.lower()}: {value}" for name, value in reply.headers.items()]
    body = reply.body or b""
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body


def _reply(refusal: Refusal) -> Reply:
    """Return a refusal with what every reply carries; the connection ends with it."""
    reply = refusal.reply()
    reply.headers |= _HEADERS
    return reply
