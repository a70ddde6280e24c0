"""Serve a watched application with Python's HTTP server.

It is for one app under test: each request has a thread, and all share one event loop.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any
from urllib.parse import unquote

from podsync_check.messages import Reply
from podsync_check.watching.exchanges import MAX_READ_BYTES
from podsync_check.watching.watch import Application, Message, Receive, Scope, Send, read_body

_Answer = Callable[[str, str, dict[str, str], bytes], Reply]

_MAX_LINE_BYTES = 8_192
_SILENT_SECONDS = 60.0
"""Idle timeout of a connection."""


def application(answer: _Answer) -> Application:
    """Wrap a synchronous server as an ASGI application."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        _, body = await read_body(receive, MAX_READ_BYTES)
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        reply = answer(scope["method"], target, headers, bytes(body))
        own = {**reply.headers, "content-length": str(len(reply.body))}
        told = [(name.encode(), value.encode("latin-1")) for name, value in own.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": told})
        await send({"type": "http.response.body", "body": reply.body})

    return answered


@contextmanager
def serving(watched: Application, host: str, port: int) -> Iterator[tuple[str, int]]:
    """Context manager: serve, and return the address and port.

    Raises:
        OSError: The port is not available.
    """
    with _Server((host, port), _Handler) as listening:
        listening.watched, listening.loop = watched, (loop := asyncio.new_event_loop())
        threads = [
            threading.Thread(target=listening.serve_forever, args=(0.05,)),
            threading.Thread(target=loop.run_forever),
        ]
        for thread in threads:
            thread.start()
        try:
            address, bound = listening.server_address[:2]
            yield str(address), int(bound)
        finally:
            listening.shutdown()
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            for thread in threads:
                thread.join()
            loop.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # open connections of apps do not keep the command running
    watched: Application
    loop: asyncio.AbstractEventLoop

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # apps may disconnect at any time
            super().handle_error(request, client_address)


async def _cancel_all() -> None:
    """Cancel requests in progress, such as a deliberately slow reply."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class _TooLong(ValueError):
    """A body exceeds the read limit."""


class _Handler(BaseHTTPRequestHandler):
    """One connection, with its requests in sequence.

    Permits web apps of any origin (CORS).
    """

    protocol_version = "HTTP/1.1"
    timeout = _SILENT_SECONDS

    server: _Server

    def answer(self, body: bytes) -> None:
        """Handle a request with its body."""
        path, _, query = self.path.partition("?")
        scope = {
            "type": "http",
            "method": self.command,
            "path": unquote(path),
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in self.headers.items()
            ],
        }
        messages: SimpleQueue[Message | None] = SimpleQueue()

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            messages.put(message)

        async def call() -> None:
            try:
                await self.server.watched(scope, receive, send)
            finally:
                messages.put(None)

        asyncio.run_coroutine_threadsafe(call(), self.server.loop)
        while (message := messages.get()) is not None:
            self.write(message)

    def write(self, message: Message) -> None:
        """Write part of a reply; the connection is closed if the last part is missing."""
        if message["type"] == "http.response.start":
            self.send_response_only(message["status"])
            for name, value in message["headers"]:
                self.send_header(name.decode("latin-1"), value.decode("latin-1"))
            self._allow_origin()
            self.end_headers()
            return
        if self.command != "HEAD":
            self.wfile.write(message.get("body", b""))
        self.close_connection = self.is_last or bool(message.get("more_body"))

    def _read(self) -> None:
        self.is_last = self.headers.get("connection", "").lower() == "close"
        self.close_connection = True  # until a reply is complete
        try:
            body = self._body()
        except _TooLong:
            self.send_error(413)
        except ValueError:
            self.send_error(400, "The length of the body cannot be read.")
        except EOFError:
            pass  # the app has disconnected in the middle of its request
        else:
            self.answer(body)

    def _body(self) -> bytes:
        """Return the body of the request.

        Raises:
            _TooLong: It exceeds the read limit.
            ValueError: Its length is not valid.
            EOFError: The connection ended before it.
        """
        if "transfer-encoding" not in self.headers:
            return self._exactly(_bounded(int(self.headers.get("content-length", "0"))))
        body = bytearray()
        while size := int(self.rfile.readline(_MAX_LINE_BYTES).partition(b";")[0], 16):
            body += self._exactly(_bounded(size, len(body)))
            self.rfile.readline(_MAX_LINE_BYTES)
        while self.rfile.readline(_MAX_LINE_BYTES).strip():
            pass
        return bytes(body)

    def _exactly(self, size: int) -> bytes:
        body = self.rfile.read(size)
        if len(body) < size:
            raise EOFError
        return body

    def _preflight(self) -> None:
        """Answer a preflight request of a browser."""
        self.send_response_only(204)
        self._allow_origin()
        self.send_header("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
        wanted = self.headers.get("access-control-request-headers", "")
        self.send_header("Access-Control-Allow-Headers", wanted.strip())
        self.end_headers()

    def _allow_origin(self) -> None:
        if origin := self.headers.get("origin", "").strip():
            self.send_header("Access-Control-Allow-Origin", origin)
            self.send_header("Access-Control-Allow-Credentials", "true")
            self.send_header("Access-Control-Expose-Headers", "ETag, Retry-After")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _read  # noqa: N815
    do_OPTIONS = _preflight  # noqa: N815 - the base's name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Suppress the log: the watch reports requests."""


def _bounded(size: int, before: int = 0) -> int:
    if size < 0:
        raise ValueError
    if size > MAX_READ_BYTES - before:
        raise _TooLong
    return size
