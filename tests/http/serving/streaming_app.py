"""An ASGI application that answers in pieces, served as feedkeep is; it tells what happens."""

import sys

import uvloop

from feedkeep.config.settings import Settings
from feedkeep.http.serving import listen, run
from feedkeep.runtime.logs import configure_logs

PIECE = b"x" * 65_536


def tell(word):
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def pieces(path):
    if path == "/endless":
        while True:
            yield PIECE
    yield b"one, "
    if path == "/broken":
        raise RuntimeError
    yield b""
    yield b"two, "
    yield b"three"


async def begin(send, *headers):
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def echo(receive, send):
    event, body = {"more_body": True}, b""
    while event.get("more_body"):
        event = await receive()
        body += event["body"]
    await begin(send, (b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.body", "body": body})


async def early(receive, send):
    """Begin to answer before the body has come."""
    await begin(send, (b"content-length", b"10"))
    await send({"type": "http.response.body", "body": b"early", "more_body": True})
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.body", "body": b" late"})


async def app(scope, receive, send):
    path = scope["path"]
    if path in {"/echo", "/early"}:
        await (echo if path == "/echo" else early)(receive, send)
        return
    await begin(send, *([(b"content-length", b"15")] if path == "/counted" else []))
    if path == "/bare":
        await send({"type": "http.response.body", "body": b"bare"})
        return
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
