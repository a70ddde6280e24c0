"""A client's connection: the limits of what it may send, and refusals of what is not HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from itertools import chain
from typing import Any, cast

import httptools
from starlette.types import ASGIApp
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from feedkeep.http.draining import Draining
from feedkeep.http.problems import (
    HEAD_TOO_LARGE,
    NO_ROOM,
    STOPPING,
    UNKNOWN_CODING,
    UNKNOWN_METHOD,
    UNREADABLE,
)
from feedkeep.http.serving import in_flight
from feedkeep.http.serving.refusals import has_body, is_only_chunked, response_of, written
from feedkeep.http.serving.writing import ReplyWriter, reset

KEEP_ALIVE_SECONDS = 75
"""How long a connection may be idle between two requests."""

MAX_HEAD_BYTES = 16 * 1024
"""The size of the largest request line and headers together that are read."""

MAX_HOST_BYTES = 300
"""How long a Host may be: a name has 253 characters, and a port follows."""

MAX_WAITING = 16
"""How many requests of one connection may wait for the one that is being answered.

Without this limit, 300 connections that sent thousands of small requests ahead, and read no reply,
took 2.6 GB.
"""

MAX_UNREAD_BYTES = 16 * 1024 * 1024
"""How much of a body is taken and dropped after the last reply of a connection."""

_LINGER_SECONDS = 5.0
"""For how long, where the client cannot be told that nothing more comes: TLS has no half-close."""

_VERSIONS = {"1.0", "1.1"}
_UPGRADE = re.compile(rb"\n([uU][pP][gG][rR][aA][dD][eE])(?=[ \t]*:)")


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with limits, which answers what is not HTTP in the shape of all errors.

    Attributes:
        is_in_head: Whether the next byte belongs to a request's line or headers.
        is_broken: Whether a request could not be read: those before it are answered, and what
            follows is dropped.
        last_seen: When the client connected, last sent something, or was last answered, in the
            event loop's time.
        waiting_since: Since when the client owes us a head or a body; None while it owes nothing.
    """

    is_in_head = True
    is_broken = False
    waiting_since: float | None = None

    _refusal = UNREADABLE
    _unaccounted_bytes = 0  # how many came since the last head or part of a body
    _closes_at: float | None = None  # when it ends whatever comes, after its last reply
    _dropped_bytes = 0

    def __init__(self, *arguments: Any, draining: Draining, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._draining = draining
        self.last_seen = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for a head."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # `send` waits until the kernel has all of it
        self.waiting_since = self.loop.time()

    def is_idle(self) -> bool:
        """Say whether no request of this connection is being answered."""
        cycle = self._cycle()
        return cycle is None or cycle.response_complete

    def cut_if_too_slow(self) -> None:
        """Cut a client that takes too long to send a head, or to send its next request.

        While a request is being answered, `in_flight` limits the time that its client may take.
        After a reply, this also covers the rest of a body that no handler has read.
        """
        if not self.is_idle():
            return
        now, waiting_since = self.loop.time(), self.waiting_since
        if self._closes_at is not None:
            if now > self._closes_at:
                self.transport.close()
        elif waiting_since is not None and now - waiting_since > in_flight.PATIENCE_SECONDS:
            reset(self.transport)
        elif now - self.last_seen > KEEP_ALIVE_SECONDS:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client."""
        if self.is_broken:
            return
        if self._closes_at is not None:
            self._drop(data)
            return
        self.last_seen = self.loop.time()
        if self.waiting_since is None:
            self.waiting_since = self.last_seen
        self._unaccounted_bytes += len(data)
        if _UPGRADE.search(data):
            self._parse_without_upgrade(data)
        else:
            self._parse(data)
        # Against heads and trailers without an end: the parser reports only those that are whole.
        if self._unaccounted_bytes > MAX_HEAD_BYTES and not self.is_broken:
            self._refusal = HEAD_TOO_LARGE
            self.send_400_response("")

    def _parse_without_upgrade(self, data: bytes) -> None:
        """Parse bytes, but ignore any request to speak another protocol.

        A server may ignore `Upgrade` (RFC 9110, section 7.8), and some clients send it with each
        request (`curl --http2`, Java's HttpClient). The parser would take the body for the other
        protocol, so the field gets another name of the same length. What comes before it is parsed
        first, to see whether it is a field or a part of a body.
        """
        parsed = 0
        for match in _UPGRADE.finditer(data):
            self._parse(data[parsed : match.start(1)])
            self._parse(b"ignored" if self.is_in_head else match[1])
            parsed = match.end()
        self._parse(data[parsed:])

    def _parse(self, data: bytes) -> None:
        while data and not self.is_broken:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as upgrade:  # the field came in two reads
                data = data[upgrade.args[0] :]
            except httptools.HttpParserError:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Note that a request has begun."""
        self.waiting_since = self.last_seen
        super().on_message_begin()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        async def answer(scope: Any, receive: Any, _send: Any) -> None:
            writer = ReplyWriter(cycle, lambda: self._ends_with(cycle), self._end)
            try:
                await cast("ASGIApp", app)(scope, receive, writer.send)
            except ConnectionError:
                pass  # the client has left
            except asyncio.CancelledError:  # at a stop, when the grace period is over
                # Unless it is answered already, or the client has left.
                with contextlib.suppress(RuntimeError, ConnectionError):
                    await response_of(STOPPING)(scope, receive, writer.send)
            finally:
                writer.cut_if_incomplete()

        super()._start_asgi_task(cycle, cast("ASGI3Application", answer))

    def _ends_with(self, cycle: RequestResponseCycle) -> bool:
        """Say whether a reply is the connection's last one: the process is about to stop.

        What the client has sent ahead is answered all the same.
        """
        return self._draining.has_begun and self.cycle is cycle

    def _end(self) -> None:
        """End the connection after its last reply, once the client has sent the rest of a body.

        Were it closed at once, the kernel would reset it, and a client that goes on to send would
        not see the reply (RFC 9112, section 9.6): gPodder's login is answered 401 while its upload
        is under way.
        """
        cycle = self.cycle
        if self.is_in_head or self.pipeline or cycle.waiting_for_100_continue:
            self.transport.close()
            return
        cycle.body = bytearray()
        patience_seconds = _LINGER_SECONDS
        if self.transport.can_write_eof():
            self.transport.write_eof()
            patience_seconds = in_flight.PATIENCE_SECONDS
        self._closes_at = self.loop.time() + patience_seconds
        self.flow.resume_reading()

    def _drop(self, data: bytes) -> None:
        """Take a part of a body that nobody reads any longer, to see its end."""
        self._dropped_bytes += len(data)
        self._unaccounted_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.transport.close()
        if self._dropped_bytes > MAX_UNREAD_BYTES or self._unaccounted_bytes > MAX_HEAD_BYTES:
            reset(self.transport)

    def on_body(self, body: bytes) -> None:
        """Receive a part of the body."""
        self._unaccounted_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Start the request, unless its head is refused: for httptools, a ValueError refuses it."""
        if self._closes_at is not None:
            raise ValueError("a request after the last one")
        self.is_in_head = False
        self.waiting_since = self.last_seen
        self._unaccounted_bytes = 0
        if self._head_bytes() > MAX_HEAD_BYTES:
            self._refusal = HEAD_TOO_LARGE
            raise ValueError("the head is too large")
        if self.parser.get_http_version() not in _VERSIONS:
            raise ValueError("a version of HTTP that is not supported")
        if len(self.pipeline) >= MAX_WAITING:  # one read may hold 8,000 requests
            self._refusal = NO_ROOM
            raise ValueError("too many requests are sent ahead")
        names = [name for name, _ in self.headers]
        if names.count(b"host") > 1:
            raise ValueError("more than one Host field (RFC 9112, section 3.2)")
        if any(name == b"host" and len(value) > MAX_HOST_BYTES for name, value in self.headers):
            raise ValueError("a Host that is longer than any name (RFC 1035, section 2.3.4)")
        # With an unknown coding, nobody knows where the body ends: what a proxy takes for its rest
        # would be read here as a second request.
        if b"transfer-encoding" in names and not is_only_chunked(self.headers):
            self._refusal = UNKNOWN_CODING
            raise ValueError("a transfer coding that is not known (RFC 9112, section 6.1)")
        # An Upgrade that came in two reads was not renamed: the body would be lost.
        if self.parser.should_upgrade() and has_body(names):
            raise ValueError("an upgrade with a body")
        super().on_headers_complete()
        # uvicorn would add trailers, which come after the body, to the headers of the request: a
        # credential, or an X-Forwarded-For that a proxy has not looked at.
        self.headers = []

    def on_message_complete(self) -> None:
        """Note that a request has ended."""
        self.is_in_head = True
        self.waiting_since = None
        self._unaccounted_bytes = 0
        super().on_message_complete()
        if self._closes_at is not None:
            self.transport.close()

    def on_response_complete(self) -> None:
        """Go on to the next request, if there is one that can be read.

        uvicorn sets a timer here, for a client that sends no more. Instead, all connections are
        checked once a second, which saves 3 microseconds for each request.
        """
        self.last_seen = self.loop.time()
        if self.is_broken and not self.pipeline:
            self.transport.close()
        if self.transport.is_closing() or self._closes_at is not None:
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the parser's words
        """Refuse a request that cannot be read, once those before it are answered.

        While an error of the parser is handled, that error decides which refusal is sent.
        """
        self.is_broken = True
        cycle = self._cycle()
        is_under_way = cycle is not None and not cycle.response_complete
        if cycle is not None and is_under_way and cycle.more_body:  # its own body is broken
            cycle.disconnected = True
            cycle.message_event.set()
            is_under_way = bool(self.pipeline)
            if is_under_way:
                self.pipeline.popleft()
        if not is_under_way:
            self._refuse()

    def _head_bytes(self) -> int:
        # Once for the whole head: to count at each header took longer than to parse it.
        texts = sum(map(len, chain.from_iterable(self.headers)))
        return len(self.url) + texts + len(": \r\n") * len(self.headers)

    def _refuse(self) -> None:
        # No route has a method that the parser does not know, so it is answered as by a route. All
        # else that cannot be read is a 400.
        if isinstance(sys.exception(), httptools.HttpParserInvalidMethodError):
            self._refusal = UNKNOWN_METHOD
        self.transport.write(written(self._refusal))
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: other protocols are ignored on purpose."""

    def _cycle(self) -> RequestResponseCycle | None:
        """Return the newest request of the connection, if there was any."""
        return self.cycle
