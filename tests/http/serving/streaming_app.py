"""An ASGI application that answers in pieces, served as feedkeep is; it tells what happens."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import uvloop
from starlette.types import Receive, Scope, Send

from feedkeep.config.settings import Settings
from feedkeep.http.serving import listen, run
from feedkeep.runtime.logs import configure_logs

PIECE = b"x" * 65_536


def tell(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


class Broken(Exception):
    """What `/broken` ends with."""


async def pieces(path: str) -> AsyncIterator[bytes]:
    if path == "/endless":
        while True:
            yield PIECE
    yield b"one, "
    if path == "/broken":
        raise Broken
    yield b""
    yield b"two, "
    yield b"three"


async def echo(receive: Receive, send: Send) -> None:
    event: Mapping[str, Any] = {"more_body": True}
    body = b""
    while event.get("more_body"):
        event = await receive()
        body += event["body"]
    length = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": body})


async def early(receive: Receive, send: Send) -> None:
    """Begin to answer before the body has come."""
    length = [(b"content-length", b"10")]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": b"early", "more_body": True})
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.body", "body": b" late"})


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    path = scope["path"]
    if path in {"/echo", "/early"}:
        await (echo if path == "/echo" else early)(receive, send)
        return
    if path == "/bare":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"bare"})
        return
    headers = [(b"content-length", b"15")] if path == "/counted" else []
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    try:
        async for piece in pieces(path):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            if path == "/endless":
                tell("sent")
    except OSError:
        tell("left")
        raise
    await send({"type": "http.response.body", "body": b""})


if __name__ == "__main__":
    settings = Settings(port=0)
    configure_logs(settings.log_level)  # to standard error
    (listener,) = listen(settings)
    tell(listener.getsockname()[1])
    uvloop.run(run(app, listener, settings))
