"""What is sent where no route is reached, or none can answer any more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, cast

from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    Scope,
)

from feedkeep.api.app import App
from feedkeep.api.problems import STOPPING, Reply
from feedkeep.errors import InvalidInput

_BODY_HEADERS = {b"content-length", b"transfer-encoding"}
_REFUSAL_HEADERS = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "connection": "close",
}


def answered(app: App) -> ASGI3Application:
    """Return `app` so that a request is judged as soon as its head is there, and ends as promised.

    Falcon waits for a first piece of the body before it looks at a request; it is given an empty
    one, so that nobody has to send megabytes to be told 401 or 413.

    Cut by the client, a body ends in an error and not as if it were whole. Cut by the server, which
    stops and has waited long enough, a request is told to come back (contract, section 7).
    """

    async def call(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        is_first = scope["type"] == "http" and has_body(scope["headers"])

        async def receive_whole() -> ASGIReceiveEvent:
            nonlocal is_first
            if is_first:
                is_first = False
                return {"type": "http.request", "body": b"", "more_body": True}
            event = await receive()
            if event["type"] == "http.disconnect":
                raise InvalidInput("The body ended early.")
            return event

        try:
            await app(cast("Any", scope), cast("Any", receive_whole), cast("Any", send))
        except InvalidInput:  # cut before the application looked at it
            pass
        except asyncio.CancelledError:
            with contextlib.suppress(RuntimeError):  # the reply has begun already
                await _send(STOPPING, send)

    return call


def has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Say whether a request with these headers has a body."""
    return any(name in _BODY_HEADERS for name, _ in headers)


def _headers(reply: Reply) -> dict[str, str]:
    """Return the headers of a reply that no route gives."""
    own = {name.lower(): value for name, value in reply.headers.items()}
    return _REFUSAL_HEADERS | own | {"content-length": str(len(reply.body()))}


async def _send(reply: Reply, send: ASGISendCallable) -> None:
    headers = [(name.encode(), value.encode()) for name, value in _headers(reply).items()]
    await send(
        {
            "type": "http.response.start",
            "status": reply.status,
            "headers": headers,
            "trailers": False,
        }
    )
    await send({"type": "http.response.body", "body": reply.body(), "more_body": False})


def written(reply: Reply) -> bytes:
    """Return a reply as the bytes of an HTTP message."""
    status = HTTPStatus(reply.status)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in _headers(reply).items()]
    return "\r\n".join([*lines, "", ""]).encode() + reply.body()
