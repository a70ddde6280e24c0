"""A client's connection: parse requests within limits, and answer them one after another."""

from __future__ import annotations

import asyncio
import fcntl
import re
import socket
import struct
import termios
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast
from urllib.parse import unquote

import httptools
import structlog
from starlette.types import ASGIApp

from feedkeep.http import backpressure
from feedkeep.http.backpressure import Draining
from feedkeep.http.error_responses import (
    HEAD_TOO_LARGE,
    HEAD_TOO_SLOW,
    NO_ROOM,
    UNKNOWN_CODING,
    UNREADABLE,
)
from feedkeep.http.proxies import plain_address
from feedkeep.http.requests import UNSENT
from feedkeep.http.serving.exchange import Exchange, written

KEEP_ALIVE_SECONDS = 75
"""Maximum idle time between two requests."""

MAX_HEAD_BYTES = 16 * 1024
"""Maximum size of request line and headers together (C1.6)."""

MAX_HEADERS = 100
"""Maximum number of header fields (C1.6): 2,000 short ones of 14 KB took 340 KiB."""

MAX_HOST_BYTES = 300
"""Maximum length of a Host: a name of 253 characters, and a port."""

MAX_WAITING_BYTES = 64 * 1024
"""Memory limit for the pipelined requests of a connection that wait for a reply to another.

Without it, 300 connections with thousands of small requests each, and unread replies, took 2.6 GB.
"""

_REQUEST_BYTES = 2 * 1024
_HEADER_BYTES = 170
"""Memory of a request, and of each of its headers, besides their texts."""

MAX_DISCARDED_BODY_BYTES = 16 * 1024 * 1024
"""Maximum size of the rest of a body that is dropped after its reply."""

_BODY_BYTES_AHEAD = 64 * 1024
"""Unreceived part of a body at which reading pauses."""

_LINGER_SECONDS = 5.0
"""Linger time where the client cannot see the end of the reply: TLS has no half-close."""

_LAST_BYTES_SECONDS = 2.0
"""Time for the end of a reply to arrive when the server stops."""

_VERSIONS = {"1.0", "1.1"}
_BODY_HEADERS = {b"content-length", b"transfer-encoding"}
_REQUEST_LINE = re.compile(rb"(?:\r?\n)*([\w!#$%&'*+.^`|~-]{1,32}) [^ \r\n]+ HTTP/1\.[01]\r?\n")
_STAND_IN_METHOD = b"PURGE"
"""Passed to llhttp instead of a method that it does not know; no route has it."""

_UPGRADE = re.compile(rb"\n([uU][pP][gG][rR][aA][dD][eE])(?=[ \t]*:)")
_MAX_LOOKS = 64
_BYTES_BETWEEN_LOOKS = 1024
"""Size of the next piece to parse, after many matches of Upgrade in a body."""

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")
"""A request target in absolute form (RFC 9112, section 3.2.2)."""

# A registered name or an address, and a port (RFC 9110, section 7.2; RFC 3986, section 3.2.2).
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+(%[\w.~%-]+)?\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?", re.ASCII)
_ASGI = {"version": "3.0", "spec_version": "2.4"}  # `send` raises when the client has left
_COUNT = struct.Struct("i")
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a timeout of zero: closing sends RST, and drops unsent data."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(eq=False, slots=True)
class Serving:
    """State shared by the connections of a server.

    Attributes:
        draining: Whether each connection closes after its next reply.
        date: Date header line of the current second.
        lost_count: Connections ended since memory was last returned to the system.
    """

    app: ASGIApp
    draining: Draining
    connections: set[Protocol] = field(default_factory=set)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    date: bytes = b""
    lost_count: int = 0


class Protocol(asyncio.Protocol):
    """An HTTP/1.1 or 1.0 connection, parsed by httptools' documented callbacks.

    Pipelined requests wait in order. Input that is not HTTP gets an error response like any other.

    Attributes:
        is_in_head: Whether the next byte belongs to a request line or headers.
        is_broken: Whether a request was unreadable: earlier requests are answered, later input is
            dropped.
        is_write_paused: Whether the kernel has not yet taken everything written.
        has_ended: Whether the client sends no more.
        last_seen: Time, in the event loop's clock, of the client's last input, or of the last reply
            or the connect.
        waiting_since: Time since when the client owes a head or a body; None if it owes nothing.
    """

    transport: asyncio.Transport
    is_in_head = True
    is_broken = False
    is_write_paused = False
    has_ended = False
    waiting_since: float | None = None

    _is_between = True  # whether the next byte is the first of a request
    _is_read_paused = False
    _drained: asyncio.Future[None] | None = None
    _current: Exchange | None = None  # being answered, or the last one answered
    _newest: Exchange | None = None  # whose body is being read, or was read last
    _refusal = UNREADABLE
    _host: bytes | None = None
    _waiting_bytes = 0  # upper bound of the queue's memory
    _unaccounted_bytes = 0  # received since the last head or part of a body
    _closes_at: float | None = None  # deadline of the connection after its last reply
    _dropped_bytes = 0

    def __init__(self, serving: Serving) -> None:
        self.loop = asyncio.get_running_loop()
        self.last_seen = self.loop.time()
        self._serving = serving
        self._queue: deque[Exchange] = deque()
        self._url = self._unknown_method = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._parser = self._new_parser()

    @property
    def date(self) -> bytes:
        return self._serving.date

    @property
    def is_cut(self) -> bool:
        """Whether nothing can be sent any more."""
        return self.transport.is_closing()

    def is_idle(self) -> bool:
        """Whether no request of this connection is in progress."""
        if self._closes_at is not None:
            return True
        return self._newest is None or self._newest.is_answered

    @property
    def owes_since(self) -> float | None:
        """Time since when the client owes something and may be cut for it; else None.

        A body behind another request does not count: we may have paused reading it.
        """
        newest = self._newest
        is_own_body = newest is self._current and newest is not None and newest.has_more
        return self.waiting_since if self.is_idle() or is_own_body else None

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        # `send` waits until the kernel has everything. With 0, TLS transports would pause on an
        # empty buffer and never resume: they compare by `>=`, others by `>`.
        self.transport.set_write_buffer_limits(high=1)
        self._server = _address(transport.get_extra_info("sockname"))
        self._client = _address(transport.get_extra_info("peername"))
        self._scheme = "https" if transport.get_extra_info("sslcontext") else "http"
        self._serving.connections.add(self)
        self.waiting_since = self.last_seen

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._serving.connections.discard(self)
        self._serving.lost_count += 1
        for exchange in filter(None, (self._current, self._newest)):
            exchange.is_lost = not exchange.is_answered
            exchange.wake()
        self.resume_writing()
        # Break the reference cycles, which would last until the next garbage collection.
        self._queue.clear()
        self._current = self._newest = None
        del self._parser

    def pause_writing(self) -> None:
        self.is_write_paused = True

    def resume_writing(self) -> None:
        self.is_write_paused = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def eof_received(self) -> bool:
        """Stay connected while a request is in progress, as for `nc -N`.

        TLS cannot close only one side.
        """
        self.has_ended = True
        if self._current is not None:
            self._current.wake()
        newest = self._newest
        is_owed = not self.is_idle() and newest is not None and not newest.has_more
        return is_owed and self._scheme == "http"

    def data_received(self, data: bytes) -> None:
        if self._is_between and data in (b"\r\n", b"\n") and self._closes_at is None:
            return  # some clients send an empty line after a body (RFC 9112, section 2.2)
        self.last_seen = self.loop.time()
        if self._closes_at is not None:
            self._drop(data)
            return
        if self.is_broken:
            self._pause_reading()  # until the earlier requests are answered
            return
        if self.waiting_since is None:
            self.waiting_since = self.last_seen
        self._unaccounted_bytes += len(data)
        if _UPGRADE.search(data):
            self._parse_without_upgrade(data)
        else:
            self._parse(data)
        # The parser reports only complete heads and trailers; this limits endless ones.
        if self._unaccounted_bytes > MAX_HEAD_BYTES and not self.is_broken:
            self._refusal = HEAD_TOO_LARGE
            self._break("headers or trailers without an end")

    # Called by the server, once a second or when it stops

    def cut_if_too_slow(self) -> None:
        """Cut a client that is late with a head (C1.7), or with its next request.

        During a request, `backpressure` has the timeouts. After a reply, the limits here also
        cover the rest of a body that no handler has read.
        """
        if not self.is_idle():
            return
        now, waiting_since = self.loop.time(), self.waiting_since
        if self._closes_at is not None:
            if now > self._closes_at:
                end = self.cut if self.is_write_paused else self.transport.close
                end()
        elif waiting_since is not None and now - waiting_since > backpressure.PATIENCE_SECONDS:
            # No request has begun, or the reply is sent and the body stalls.
            if self._is_between or not self.is_in_head:
                self.cut()
            else:
                self._refusal = HEAD_TOO_SLOW
                self._break("the header section took too long")
                self._closes_at = now + _LINGER_SECONDS
        elif now - self.last_seen > KEEP_ALIVE_SECONDS:
            self.transport.close()

    def close_if_unused(self) -> None:
        """Close the connection if it is idle; called while the server stops.

        A client that still sends the rest of a body would lose its reply with the connection.
        """
        if not self.is_idle():
            return
        is_in_body = self._closes_at is not None or not self.is_in_head
        if is_in_body and self.loop.time() - self.last_seen <= _LAST_BYTES_SECONDS:
            return
        # A client with an idle pooled connection neither reads from it nor completes the TLS close.
        if self.is_cut and self.loop.time() - self.last_seen > _LAST_BYTES_SECONDS:
            self.transport.abort()
        else:
            self.transport.close()

    def cut(self) -> None:
        """Reset the connection, so that the client notices and the kernel drops its data.

        After a normal close, the kernel would keep unread data for minutes, and a truncated reply
        would look complete to an HTTP/1.0 client.
        """
        if not self.transport.is_closing():
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.transport.abort()

    # Called by exchanges

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    async def drain(self) -> None:
        """Wait until the kernel has everything written, or the client has left."""
        if self.is_write_paused:
            self._drained = self.loop.create_future()
            await self._drained

    def resume_reading(self) -> None:
        if self._is_read_paused and not self.is_cut:
            self._is_read_paused = False
            self.transport.resume_reading()

    def ends_with(self, exchange: Exchange) -> bool:
        """Whether the connection closes after this reply, since the process is about to stop.

        Pipelined requests are still answered.
        """
        return self._serving.draining.has_begun and self._newest is exchange

    def on_answered(self, exchange: Exchange) -> None:
        """Close the connection after its last reply, or continue with the next request."""
        self.last_seen = self.loop.time()
        exchange.forget_request()  # free the memory of idle connections
        if not exchange.keep_alive:
            self._end()
        elif self.has_ended and not self._queue:
            self.transport.close()
        elif self.is_broken and not self._queue:
            self._linger()
        if self.is_cut or self._closes_at is not None:
            return
        if self._queue:  # no reading here: each reply would let more requests in
            self._answer(self._queue.popleft())
        else:
            self._waiting_bytes = 0
            self.resume_reading()

    # Called by the parser; a ValueError rejects the input

    def on_message_begin(self) -> None:
        self._is_between = False
        self.waiting_since = self.last_seen
        self._url = b""
        self._headers = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header, or a trailer of a chunked body."""
        if len(self._headers) == MAX_HEADERS:
            self._refusal = HEAD_TOO_LARGE
            raise ValueError("too many headers or trailers")
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """Answer the request or queue it; a bad head raises ValueError."""
        if self._closes_at is not None:
            raise ValueError("a request after the last one")
        self.waiting_since = self.last_seen
        self._unaccounted_bytes = self._dropped_bytes = 0
        version = self._parser.get_http_version()
        headers = self._headers
        self._check_head(version)
        try:
            url = httptools.parse_url(self._url)
        except httptools.HttpParserInvalidURLError:  # its message has the URL, and so its secrets
            raise ValueError("a target that is no URL (RFC 9112, section 3.2)") from None
        self.is_in_head = False
        # Trailers are not added to the request's headers: one may be a credential, or an
        # X-Forwarded-For that no proxy has checked (C1.12).
        self._headers, self._url = [], b""
        raw_path = url.path or b"/"
        path = raw_path.decode("ascii")
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self._server,
            "client": self._client,
            "scheme": self._scheme,
            "method": (self._unknown_method or self._parser.get_method()).decode("ascii"),
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": url.query or b"",
            "headers": headers,
            UNSENT: self._unsent_bytes,
        }
        exchange = Exchange(
            self,
            scope,
            keep_alive=version != "1.0" and self._parser.should_keep_alive(),
            is_continue_owed=version != "1.0" and _expects_continue(headers),
        )
        is_first = self.is_idle()
        self._newest = exchange
        if is_first:
            self._answer(exchange)
        else:
            self._pause_reading()
            self._queue.append(exchange)

    def on_body(self, body: bytes) -> None:
        """Store a part of a body, or drop it if its request is already answered."""
        self._unaccounted_bytes = 0
        exchange = self._newest
        assert exchange is not None
        if exchange.is_answered:
            self._discard(len(body))
            return
        exchange.take(body)
        if len(exchange.body) > _BODY_BYTES_AHEAD:
            self._pause_reading()

    def on_message_complete(self) -> None:
        self.is_in_head = self._is_between = True
        self.waiting_since = None
        self._unknown_method = b""
        self._unaccounted_bytes = 0
        exchange = self._newest
        assert exchange is not None
        if not exchange.is_answered:
            exchange.has_more = False
            exchange.wake()
            if not self._queue:  # reading paused only for this body
                self.resume_reading()
        if self._closes_at is not None:
            self.transport.close()

    # Internal

    def _parse_without_upgrade(self, data: bytes) -> None:
        """Parse input, ignoring the Upgrade field.

        A server may ignore `Upgrade` (RFC 9110, section 7.8), and some clients send it with each
        request (`curl --http2`, Java's HttpClient). The parser would treat the body as the other
        protocol, so the field is renamed, at the same length. Input before a match is parsed first
        to learn whether the match is a field or part of a body.
        """
        parsed = looks = 0
        while match := _UPGRADE.search(data, parsed):
            self._parse(data[parsed : match.start(1)])
            parsed = match.end()
            if self.is_in_head:
                self._parse(b"ignored")
                continue
            looks += 1
            if looks > _MAX_LOOKS:  # 10 MB of such lines took a second
                parsed += _BYTES_BETWEEN_LOOKS
            self._parse(data[match.start(1) : parsed])
        self._parse(data[parsed:])

    def _new_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        # A request after "Connection: close" is not answered, but must not prevent earlier answers.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _parse(self, data: bytes) -> None:
        while data and not self.is_broken:
            is_begin, newest = self._is_between, self._newest
            try:
                self._parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as upgrade:  # the field was split over two reads
                data = data[upgrade.args[0] :]
            except httptools.HttpParserInvalidMethodError:
                line = _REQUEST_LINE.match(data)
                if not (line and is_begin and newest is self._newest):
                    self._break("a method that is not known")
                    return
                # The route responds, and lists its methods (C7.6).
                self._unknown_method = line[1]
                self._parser = self._new_parser()
                data = _STAND_IN_METHOD + data[line.end(1) :]
            except httptools.HttpParserError as error:
                self._break(str(error.__context__ or error))

    def _check_head(self, version: str) -> None:
        """Check a complete head.

        Raises:
            ValueError: It is rejected.
        """
        headers = self._headers
        # Once per head: counting at each header took longer than parsing it.
        texts_bytes = sum(map(len, chain.from_iterable(headers)))
        if len(self._url) + texts_bytes + len(": \r\n") * len(headers) > MAX_HEAD_BYTES:
            self._refusal = HEAD_TOO_LARGE
            raise ValueError("the head is too large")
        if version not in _VERSIONS:
            raise ValueError("a version of HTTP that is not supported")
        if not self.is_idle():  # one read may contain 8,000 requests
            self._waiting_bytes += _REQUEST_BYTES + texts_bytes + _HEADER_BYTES * len(headers)
            if self._waiting_bytes > MAX_WAITING_BYTES:
                self._refusal = NO_ROOM
                raise ValueError("too many requests are sent ahead")
        names = [name for name, _ in headers]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) > 1 or (not hosts and version == "1.1"):
            raise ValueError("not one Host field (RFC 9112, section 3.2)")
        # The host of a target in absolute form overrides the Host field.
        if self._url[:1] != b"/" and (absolute := _ABSOLUTE.match(self._url)):
            hosts = [absolute[1].rpartition(b"@")[2]]
            headers[:] = [(name, hosts[0] if name == b"host" else value) for name, value in headers]
        if hosts and hosts[0] != self._host:  # differs from the previous request
            self._host = _checked_host(hosts[0])
        # With an unknown coding, the end of the body is unknown: the rest of what a proxy takes for
        # the body would be read here as a second request.
        codings = [value for name, value in headers if name == b"transfer-encoding"]
        if codings and b",".join(codings).strip().lower() != b"chunked":
            self._refusal = UNKNOWN_CODING
            raise ValueError("a transfer coding that is not known (RFC 9112, section 6.1)")
        # An Upgrade split over two reads was not renamed: the body would be lost.
        if self._parser.should_upgrade() and not _BODY_HEADERS.isdisjoint(names):
            raise ValueError("an upgrade with a body")

    def _answer(self, exchange: Exchange) -> None:
        self._current = exchange
        serving = self._serving
        task = self.loop.create_task(exchange.run(serving.app))
        serving.tasks.add(task)
        task.add_done_callback(serving.tasks.discard)

    def _unsent_bytes(self) -> int:
        """Return the number of written bytes that the client has not yet received."""
        waiting = self.transport.get_write_buffer_size()
        with suppress(OSError):  # some systems do not report the kernel's part
            connection = self.transport.get_extra_info("socket").fileno()
            (sent,) = _COUNT.unpack(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(_COUNT.size)))
            waiting += sent
        return waiting

    def _pause_reading(self) -> None:
        if not self._is_read_paused and not self.is_cut:
            self._is_read_paused = True
            self.transport.pause_reading()

    def _break(self, reason: str) -> None:
        """Reject unreadable input; after pending requests, the connection just closes."""
        self.is_broken = True
        if self.is_idle() and not self.is_in_head:  # a body whose request is answered
            self._linger()
            return
        newest, is_under_way = self._newest, not self.is_idle()
        if newest is not None and is_under_way and newest.has_more:  # in the request's own body
            newest.is_lost = True
            newest.wake()
            is_under_way = bool(self._queue)
            if is_under_way:
                self._queue.pop()
            elif newest.has_begun:  # the client would take a refusal for part of the reply
                self.cut()
                return
            else:
                newest.is_answered = True
        if not is_under_way:
            self._refuse(reason)

    def _refuse(self, reason: str) -> None:
        address = self._client and plain_address(self._client[0])
        status = self._refusal.status
        _log.info("request not read", status=status, reason=reason, address=address)
        is_head = self._parser.get_method() == b"HEAD"
        self.transport.write(written(self._refusal, self.date, is_head=is_head))
        self._unaccounted_bytes = 0
        self._linger()

    def _end(self) -> None:
        """Close the connection after its last reply, once the client has sent the rest of a body.

        Closing at once would reset the connection, and a client that is still sending would lose
        the reply (RFC 9112, section 9.6): gPodder's upload is answered 401 before it is complete.
        """
        has_next = self.is_in_head or bool(self._queue)
        # While reading is paused, pipelined input may be in the kernel, so closing would reset the
        # connection. Lingering helps only without TLS, where the client can see the end.
        if has_next and not (self._is_read_paused and self.transport.can_write_eof()):
            self.transport.close()
            return
        self.is_broken = self.is_broken or has_next  # pipelined requests are not answered
        self._linger()

    def _linger(self) -> None:
        """Send no more, and close the connection when the client has finished sending."""
        patience_seconds = _LINGER_SECONDS
        if self.transport.can_write_eof():
            self.transport.write_eof()
            patience_seconds = backpressure.PATIENCE_SECONDS
        self._closes_at = self.loop.time() + patience_seconds
        self.resume_reading()

    def _drop(self, data: bytes) -> None:
        """Drop input after the last reply, and detect the end of a body."""
        if self.is_broken:
            self._discard(len(data))
            return
        self._unaccounted_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.transport.close()
        if self._unaccounted_bytes > MAX_HEAD_BYTES:
            self.cut()

    def _discard(self, count: int) -> None:
        """Drop `count` bytes, and resume reading in the next turn of the event loop.

        Otherwise a fast client would be read many times in one turn.
        """
        self._dropped_bytes += count
        if self._dropped_bytes > MAX_DISCARDED_BODY_BYTES:
            self.cut()
        elif not self._is_read_paused:
            self._pause_reading()
            self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if self.is_idle():
            self.resume_reading()


def _address(name: Any) -> tuple[str, int] | None:
    return (name[0], name[1]) if isinstance(name, tuple) else None


def _checked_host(host: bytes) -> bytes:
    """Check a Host, which links in responses contain.

    Raises:
        ValueError: It is rejected.
    """
    if len(host) > MAX_HOST_BYTES:
        raise ValueError("a Host that is longer than any name (RFC 1035, section 2.3.4)")
    if not _HOST.fullmatch(host):
        raise ValueError("a Host that is no name and no address (RFC 9112, section 3.2)")
    return host


def _expects_continue(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in headers)
