"""Listening: uvicorn with our bounds, and errors in our shape where no route is reached."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, cast

import httptools
import uvicorn
from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    Scope,
)
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from feedkeep.api.app import App
from feedkeep.api.problems import STOPPING, UNKNOWN_METHOD, UNREADABLE, Reply
from feedkeep.errors import FeedkeepError, InvalidInput
from feedkeep.settings import Settings

KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 8
"""How long requests under way may take once the service is told to stop."""


_UPGRADE = re.compile(rb"\nupgrade([ \t]*:)", re.IGNORECASE)
_BODY_HEADERS = {b"content-length", b"transfer-encoding"}
_REFUSAL_HEADERS = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "connection": "close",
}


class CannotListen(FeedkeepError):
    """The address cannot be listened on; `str()` of it says why."""


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, which answers what is not HTTP in the one shape of errors."""

    is_between_messages = True
    """Whether the next byte starts a request."""

    is_broken = False
    """Whether what follows cannot be read; what came before is answered, and the rest dropped."""

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client, without any wish to speak another protocol.

        A server may ignore `Upgrade` (RFC 9110, section 7.8), and clients send it with each request
        (`curl --http2`, Java's HttpClient). The parser would take the body for the other protocol,
        so the field gets another name, of the same length: no byte ever changes its place.
        """
        if self.is_broken:
            return
        if self.is_between_messages and _UPGRADE.search(data):
            head, end, rest = data.partition(b"\r\n\r\n")
            data = _UPGRADE.sub(rb"\nignored\1", head) + end + rest
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Note that a request has begun."""
        self.is_between_messages = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start the request, unless its body would be taken for a second one."""
        # An Upgrade that came in pieces was not found above; httptools refuses when this raises.
        if self.parser.should_upgrade() and _has_body(self.headers):
            raise ValueError("an upgrade with a body")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that a request has ended."""
        self.is_between_messages = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request, if there is one that can be read."""
        if self.is_broken and not self.pipeline:
            self.transport.close()
        else:
            super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the parser's words
        """Refuse a request that cannot be read, once those before it are answered.

        uvicorn calls this while it handles the parser's error.
        """
        self.is_broken = True
        cycle = self._cycle()
        is_under_way = cycle is not None and not cycle.response_complete
        if cycle is not None and is_under_way and cycle.more_body:  # it is this one that is broken
            cycle.disconnected = True
            cycle.message_event.set()
            is_under_way = bool(self.pipeline)
            if is_under_way:
                self.pipeline.popleft()
        if not is_under_way:
            self._refuse()

    def _refuse(self) -> None:
        # A method that the parser does not know is one that no route has; of anything else that is
        # broken, only HTTP's own 400 is true.
        if isinstance(sys.exception(), httptools.HttpParserInvalidMethodError):
            reply = UNKNOWN_METHOD
        else:
            reply = UNREADABLE
        status = HTTPStatus(reply.status)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
        lines += [f"{name}: {value}" for name, value in _headers(reply).items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + reply.body())
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: that other protocols are ignored is as it should be."""

    def _cycle(self) -> RequestResponseCycle | None:
        """Return the newest request; before a connection's first one there is none."""
        return self.cycle


def answered(app: App) -> ASGI3Application:
    """Return `app` so that a request is judged as soon as its head is there, and ends as promised.

    Falcon waits for a first piece of the body before it looks at a request; it is given an empty
    one, so that nobody has to send megabytes to be told 401 or 413.

    Cut by the client, a body ends in an error and not as if it were whole. Cut by the server, which
    stops and has waited long enough, a request is told to come back (contract, section 7).
    """

    async def call(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        is_first = scope["type"] == "http" and _has_body(scope["headers"])

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


def _has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
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
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "that is no address"
        raise CannotListen(
            f"Cannot listen on {settings.host} port {settings.port}: {reason}."
        ) from error
    return listener


async def run(app: App, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer what was accepted, and return."""
    config = uvicorn.Config(
        answered(app),
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
