"""Listening: uvicorn with our bounds, and errors in our shape where no route is reached."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
from collections.abc import Iterator

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from feedkeep.api.app import App
from feedkeep.api.wire import Problem, encode
from feedkeep.errors import FeedkeepError
from feedkeep.settings import Settings

KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 8
"""How long requests under way may take once the service is told to stop."""


class CannotListen(FeedkeepError):
    """The address cannot be listened on; `str()` of it says why."""


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, answering what is not HTTP with the one shape of errors."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the parser's words
        """Refuse a request that cannot be read, and close the connection.

        uvicorn calls this while it handles the parser's error. A method that the parser does not
        know is one that no route has; of anything else that is broken, only HTTP's own 400 is true.
        """
        if isinstance(sys.exception(), httptools.HttpParserInvalidMethodError):
            self._refuse(b"405 Method Not Allowed", "The input could not be validated.")
        else:
            self._refuse(b"400 Bad Request", "The request is not valid HTTP.")

    def _refuse(self, status: bytes, message: str) -> None:
        body = encode(Problem(status[:3].decode(), message))
        allow = b"allow: GET, HEAD, POST, PATCH, DELETE\r\n" if status.startswith(b"405") else b""
        self.transport.write(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\n%s"
            b"cache-control: no-store\r\nx-content-type-options: nosniff\r\n"
            b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (status, allow, len(body), body)
        )
        self.transport.close()


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say.

    Raises:
        CannotListen: The address is taken, not ours, or not an address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        raise CannotListen(
            f"Cannot listen on {settings.host} port {settings.port}: {error.strerror}."
        ) from error
    return listener


async def run(app: App, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer what was accepted, and return."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    with _signals_spent():
        await uvicorn.Server(config).serve(sockets=[listener])


@contextlib.contextmanager
def _signals_spent() -> Iterator[None]:
    """Ignore, at the end, the signal that uvicorn raises again: the store is still to be closed."""
    before = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
