"""A reply on its way out: ASGI's messages as the bytes of HTTP, in one piece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


class ReplyWriter:
    """Writes the reply to one request: the head leaves together with the body.

    It stands in for uvicorn's own `send`, which looks at each header with two regular expressions
    and calls the system twice. A reply of ours is complete when it is sent, so one look at the
    whole head is enough, and one call; together that was a sixth of what a GET took.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._start: Mapping[str, Any] = {}

    async def send(self, message: Mapping[str, Any]) -> None:
        """Take the start of a reply, or the whole of its body.

        Raises:
            RuntimeError: A reply has been sent already.
        """
        cycle = self._cycle
        if cycle.response_complete:
            raise RuntimeError("A reply has been sent already.")
        if message["type"] == "http.response.start":
            self._start = message
            return
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if not cycle.disconnected:
            self._write(cycle, message["body"])

    def _write(self, cycle: RequestResponseCycle, body: bytes) -> None:
        headers = [*cycle.default_headers, *self._start["headers"]]
        if (b"Connection", b"close") in headers:
            cycle.keep_alive = False
        elif not cycle.keep_alive:
            headers.append((b"Connection", b"close"))
        head = head_of(self._start["status"], headers)
        cycle.transport.write(head if cycle.scope["method"] == "HEAD" else head + body)
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()


def head_of(status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the status line and the headers of a reply, with the empty line that ends them.

    Raises:
        RuntimeError: A header has a line break in it, and would be taken for two.
    """
    lines = [name + b": " + value for name, value in headers]
    head = _STATUS_LINES[status] + b"\r\n".join(lines) + b"\r\n\r\n"
    line_breaks = len(lines) + 2
    if head.count(b"\n") != line_breaks or head.count(b"\r") != line_breaks:
        raise RuntimeError("A header of the reply has a line break in it.")
    return head
