"""The floor: stock uvicorn, the usual ASGI server, with a constant response."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn
import uvloop

SERVER_SETTINGS: dict[str, Any] = {
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
}
BODY = b'{"answer":"' + b"x" * 187 + b'"}'
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))],
}
END = {"type": "http.response.body", "body": BODY}


async def answer(_scope: Any, _receive: Any, send: Any) -> None:
    """Send 200 bytes of JSON in response to any request."""
    await send(START)
    await send(END)


def main() -> None:
    """Serve on a free port, and print the URL."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2_048)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(answer, http="httptools", **SERVER_SETTINGS)
    uvloop.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
