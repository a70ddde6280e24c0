"""A request and its reply on a connection, as ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

import structlog
from starlette.types import ASGIApp, Message, Scope

from feedkeep.http.error_responses import STOPPING
from feedkeep.http.responses import Refusal

if TYPE_CHECKING:
    from feedkeep.http.serving.protocol import Protocol


_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


def head_of(status: int, headers: Iterable[tuple[bytes, bytes]], date: bytes = b"") -> bytes:
    """Encode the status line and headers of a reply, including the final empty line.

    `date` is a complete header line. One check covers the whole head: checking each header took a
    sixth of the time of a GET.

    Raises:
        RuntimeError: A header contains a line break, which would split it in two.
    """
    lines = [b"%b: %b\r\n" % header for header in headers]
    head = b"%b%b%b\r\n" % (_STATUS_LINES[status], date, b"".join(lines))
    line_breaks = len(lines) + (3 if date else 2)
    if head.count(b"\n") != line_breaks or head.count(b"\r") != line_breaks:
        raise RuntimeError("A header of the reply has a line break in it.")
    return head


def chunk_of(body: bytes, *, is_last: bool) -> bytes:
    """Encode a part of a body as a chunk (RFC 9112, section 7.1)."""
    chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    return chunk + b"0\r\n\r\n" if is_last else chunk


def written(refusal: Refusal, date: bytes, *, is_head: bool) -> bytes:
    """Encode a refusal; the reply to HEAD has no body."""
    response = refusal.last_response()
    head = head_of(response.status_code, response.raw_headers, date)
    return head if is_head else head + bytes(response.body)


_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_WITHOUT_BODY = {204, 304}

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Exchange:
    """One request and its reply (ASGI 3.0, "HTTP & WebSocket ASGI Message Format" 2.4).

    Attributes:
        body: Unreceived part of the body.
        has_more: Whether more of the body will arrive.
        is_continue_owed: Whether the client waits for a "100 Continue" before sending the body.
        is_lost: Whether the client has left or sent an unreadable body.
        is_answered: Whether the whole reply was sent.
    """

    __slots__ = (
        "_connection",
        "_has_news",
        "_is_chunked",
        "_is_taken",
        "_start",
        "_waiter",
        "body",
        "has_begun",
        "has_more",
        "is_answered",
        "is_continue_owed",
        "is_lost",
        "keep_alive",
        "scope",
    )

    def __init__(
        self,
        connection: Protocol,
        scope: Scope,
        *,
        keep_alive: bool,
        is_continue_owed: bool,
    ) -> None:
        self._connection = connection
        self._start: Message = {}
        self._waiter: asyncio.Future[None] | None = None
        self._has_news = self._is_chunked = self._is_taken = False
        self.scope = scope
        self.body = bytearray()
        self.has_more = True
        self.keep_alive = keep_alive
        self.is_continue_owed = is_continue_owed
        self.is_lost = self.has_begun = self.is_answered = False

    async def run(self, app: ASGIApp) -> None:
        """Run the application; cut the connection if its reply is incomplete."""
        try:
            await app(self.scope, self.receive, self.send)
        except ConnectionError:
            pass  # the client has left
        except asyncio.CancelledError:  # the grace period of a stop is over
            await self._refuse_while_stopping()
        except Exception as error:  # noqa: BLE001 - limited to this request
            _log.error("request failed without a reply", exc_info=error)
        finally:
            # Only a cut connection shows the client that the reply is incomplete.
            if not self.is_answered:
                self._connection.cut()

    def take(self, body: bytes) -> None:
        self.is_continue_owed = False  # the client did not wait
        self.body += body
        self.wake()

    def forget_request(self) -> None:
        self.scope, self._start, self.body = {}, {}, bytearray()

    def wake(self) -> None:
        """Wake `receive`: more of the body, its end, or a disconnect has arrived."""
        self._has_news = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def receive(self) -> Message:
        """Wait for the next part of the body, or for a disconnect."""
        connection = self._connection
        if self.is_continue_owed and not (self.has_begun or connection.is_cut):
            self.is_continue_owed = False
            connection.write(_CONTINUE)
        if not self._has_news and not self._is_over():
            connection.resume_reading()
            self._waiter = connection.loop.create_future()
            await self._waiter
        self._has_news = False
        if self._is_over():
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), bytearray()
        self._is_taken = not self.has_more
        return {"type": "http.request", "body": body, "more_body": self.has_more}

    def _is_over(self) -> bool:
        """Whether nothing follows; who sends no more after the whole body has probably left."""
        return self.is_lost or self.is_answered or (self._is_taken and self._connection.has_ended)

    async def send(self, message: Message) -> None:
        """Send the start of a reply or a part of its body; return once the kernel has taken it.

        The head is sent with the first part of the body, in one system call. A body without a
        Content-Length is sent in chunks (RFC 9112, section 7.1), and to an HTTP/1.0 client until
        the connection closes.

        Raises:
            RuntimeError: A reply was already sent, or begun if this is the start of another.
            ConnectionError: The client has left.
        """
        self._raise_if_lost()
        is_start = message["type"] == "http.response.start"
        if self.is_answered or (is_start and self.has_begun):
            raise RuntimeError("A reply has been sent already.")
        if is_start:
            self._start = message
            return
        connection = self._connection
        is_last = not message.get("more_body", False)
        connection.write(self._bytes_of(message.get("body", b""), is_last=is_last))
        if connection.is_write_paused:
            await connection.drain()
            self._raise_if_lost()
        if is_last:
            self.is_answered = True
            self.wake()
            connection.on_answered(self)

    def _raise_if_lost(self) -> None:
        if self.is_lost or self._connection.is_cut:
            raise ConnectionResetError("The client has left.")

    def _bytes_of(self, body: bytes, *, is_last: bool) -> bytes:
        """Encode a part of the body; the first part is preceded by the head."""
        head = b"" if self.has_begun else self._head()
        self.has_begun = True
        if self.scope["method"] == "HEAD":
            return head
        return head + (chunk_of(body, is_last=is_last) if self._is_chunked else body)

    def _head(self) -> bytes:
        status, headers = self._start["status"], list(self._start["headers"])
        keep_alive = self.keep_alive and not self._connection.ends_with(self)
        # A client waiting for "100 Continue" may send its next request instead of the body.
        keep_alive = keep_alive and not (self.is_continue_owed and self.has_more)
        names = [name for name, _ in headers]  # three times as fast as a generator
        self._is_chunked = False
        if b"content-length" not in names and status not in _WITHOUT_BODY:
            self._is_chunked = self.scope["http_version"] != "1.0"
            keep_alive = keep_alive and self._is_chunked
        if self._is_chunked:
            headers.append((b"transfer-encoding", b"chunked"))
        if (b"connection", b"close") in headers:
            keep_alive = False
        elif not keep_alive:
            headers.append((b"connection", b"close"))
        self.keep_alive = keep_alive
        return head_of(status, headers, self._connection.date)

    async def _refuse_while_stopping(self) -> None:
        if self.has_begun or self.is_lost or self._connection.is_cut:
            return
        response = STOPPING.last_response()
        self.keep_alive = False
        body = b"" if self.scope["method"] == "HEAD" else bytes(response.body)
        self._connection.write(head_of(response.status_code, response.raw_headers) + body)
        self.is_answered = True
        self._connection.on_answered(self)
