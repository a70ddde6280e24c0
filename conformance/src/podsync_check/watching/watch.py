"""Watch the requests of apps: an ASGI application that wraps the server's.

ASGI serves as a calling convention, without any package; `serving` has a server.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from podsync_check.checks.apps.objections import Hint, StrictReader
from podsync_check.page import page_of_requests
from podsync_check.watching.exchanges import (
    MAX_PENDING,
    MAX_READ_BYTES,
    SLOW_SECONDS,
    Fault,
    WatchedExchange,
)
from podsync_check.watching.hard_cases import Course

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Deed: TypeAlias = Callable[[], Awaitable[None]]

PLACE = "/try"
"""Path of the page."""

MAX_EXCHANGES = 200
"""Maximum number of exchanges on the page."""

_MAX_FORM_BYTES = 4_096
_PREFIX = "/v1"
_TIMES = range(1, MAX_PENDING + 1)
_JSON, _HTML = b"application/json", b"text/html; charset=utf-8"
_CHALLENGES = ('Basic realm="feedkeep", charset="UTF-8"', 'Bearer realm="feedkeep"')
_REFUSED: Mapping[Fault, tuple[int, str, Sequence[tuple[str, str]]]] = {
    Fault.UNAVAILABLE: (503, "The service is unavailable.", [("Retry-After", "2")]),
    Fault.TOO_MANY: (429, "There were too many attempts.", [("Retry-After", "3")]),
    Fault.LONG_HEADERS: (431, "The headers are too large.", []),
    Fault.EXPIRED: (
        401, "The user is not authorized.", [("WWW-Authenticate", one) for one in _CHALLENGES]
    ),
}  # fmt: skip


class Untellable(ValueError):
    """An instruction to the watch is not valid; the text says why."""


class Watch:
    """Forwards requests to the server, and injects faults.

    Attributes:
        exchanges: Recent exchanges, the newest first.
        objection_count: Number of objections to all exchanges.
        course: Hard cases; without any, it is over from the start.
        tell: Called with each completed exchange.

    Args:
        application: The server.
        deeds: Actions on the page besides faults: "keep" backs up the list, "restore" restores it.
        passed_over: Prefixes of paths for people, which are not watched.
        clock: Monotonic clock.
    """

    def __init__(
        self,
        application: Application,
        deeds: Mapping[str, Deed],
        *,
        passed_over: tuple[str, ...] = (),
        course: Course | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._application = application
        self._deeds = deeds
        self._passed_over = passed_over
        self._clock = clock
        self._reader = StrictReader()
        self._pending: deque[Fault] = deque()
        self.course = course or Course([], None)
        self.exchanges: deque[WatchedExchange] = deque(maxlen=MAX_EXCHANGES)
        self.count = self.objection_count = 0
        self.tell: Callable[[WatchedExchange], None] = lambda _: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == PLACE or path.startswith(f"{PLACE}/"):
            await self._own(scope, receive, send)
        elif path == "/" or path.startswith(self._passed_over):
            await self._application(scope, receive, send)
        else:
            await self._record(scope, receive, send)

    async def _record(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request of an app, and record the exchange."""
        self.count += 1
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        prefix = _PREFIX if scope["path"].startswith(f"{_PREFIX}/") else ""
        exchange = WatchedExchange(
            self.count,
            self._clock(),
            scope["method"],
            scope["path"].removeprefix(prefix),
            scope["query_string"].decode("latin-1"),
            headers,
            urls=self._reader.urls,
            prefix=prefix,
        )
        self.exchanges.appendleft(exchange)
        # Read the whole body first: its content determines whether a hard case applies, and a
        # server that refuses the request may not read it.
        messages, exchange.body = await read_body(receive, MAX_READ_BYTES)
        exchange.fault = self._ordered(exchange) or self.course.fault_of(exchange)
        try:
            await self._answer(exchange, scope, _again(messages, receive), _told(send, exchange))
        finally:
            exchange.objections += self._reader.read(exchange)
            self.objection_count += sum(not isinstance(one, Hint) for one in exchange.objections)
            self.course.go_on(exchange)
            exchange.shorten()
            self.tell(exchange)

    def _ordered(self, exchange: WatchedExchange) -> Fault | None:
        if not self._pending:
            return None
        is_asked = exchange.method == "GET" and "if-none-match" in exchange.headers
        if self._pending[0] is Fault.UNCHANGED and not is_asked:
            return None
        return self._pending.popleft()

    async def _answer(
        self, exchange: WatchedExchange, scope: Scope, receive: Receive, send: Send
    ) -> None:
        fault = exchange.fault
        if refused := fault and _REFUSED.get(fault):
            status, message, headers = refused
            await _reply(send, status, _error(status, message), _JSON, headers)
        elif fault is Fault.MOVED:
            await _reply(send, 301, b"", _JSON, [("Location", _moved(exchange))])
        elif fault is Fault.UNCHANGED:
            etag = exchange.headers["if-none-match"].partition(",")[0]
            await _reply(send, 304, b"", None, [("ETag", etag)])
        elif fault in {Fault.LOST, Fault.TORN}:
            await self._application(scope, receive, _cut(send, is_torn=fault is Fault.TORN))
        else:
            if fault is Fault.SLOW:
                await asyncio.sleep(SLOW_SECONDS)
            await self._application(scope, receive, send)

    async def _own(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request of the page, or an instruction of a test."""
        path, method = scope["path"].removeprefix(PLACE), scope["method"]
        if (path, method) in {("", "GET"), ("", "HEAD")}:
            shown = self.shown().encode()
            await _reply(send, 200, b"" if method == "HEAD" else shown, _HTML, ())
        elif (path, method) == ("/requests.json", "GET"):
            await _reply(send, 200, json.dumps(self.told()).encode(), _JSON, ())
        elif method == "POST" and path.removeprefix("/") in {"faults", *self._deeds}:
            try:
                await self._do(path.removeprefix("/"), await _form(receive))
            except Untellable as error:
                await _reply(send, 400, _error(400, str(error)), _JSON, ())
                return
            is_browser = b"text/html" in dict(scope["headers"]).get(b"accept", b"")
            there = [("Location", f"..{PLACE}")] if is_browser else []
            await _reply(send, 303 if is_browser else 200, b"{}", _JSON, there)
        else:
            await _reply(send, 404, _error(404, "There is no such page."), _JSON, ())

    async def _do(self, what: str, form: Mapping[str, str]) -> None:
        if what == "faults":
            self._pending.extend(_faults_of(form, MAX_PENDING - len(self._pending)))
        else:
            await self._deeds[what]()

    def told(self) -> dict[str, Any]:
        """Return recent exchanges, the oldest first, and the hard cases, for tests."""
        names = ("number", "method", "target", "status", "fault", "objections")
        requests = [
            {name: getattr(one, name) for name in names} for one in reversed(self.exchanges)
        ]
        found: dict[str, Any] = {"objections": self.objection_count, "requests": requests}
        return found | self.course.told()

    def shown(self) -> str:
        """Return the page."""
        shown = (self.exchanges, self.objection_count, self._pending, self._deeds, self.course)
        return page_of_requests(*shown)


def _faults_of(form: Mapping[str, str], room: int) -> Sequence[Fault]:
    """Return the requested faults.

    Raises:
        Untellable: The fault is unknown, or there are too many.
    """
    times = form.get("times", "1")
    if form.get("fault") not in set(Fault):
        raise Untellable(f"fault is one of {', '.join(Fault)}.")
    if not times.isdecimal() or int(times) not in _TIMES or int(times) > room:
        raise Untellable(f"times is from 1 to {MAX_PENDING}, including pending ones.")
    return [Fault(form["fault"])] * int(times)


async def _form(receive: Receive) -> dict[str, str]:
    _, body = await read_body(receive, _MAX_FORM_BYTES)
    try:
        found = json.loads(body)
    except ValueError:
        return dict(parse_qsl(body.decode("utf-8", "replace")))
    return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _moved(exchange: WatchedExchange) -> str:
    """Return the address to which a request is redirected."""
    origin = f"http://{exchange.headers.get('host', '')}"
    return f"{origin}{exchange.target}{'&' if exchange.query else '?'}moved=1"


def _error(status: int, message: str) -> bytes:
    return json.dumps({"code": str(status), "message": message}).encode()


async def _reply(
    send: Send, status: int, body: bytes, kind: bytes | None, headers: Sequence[tuple[str, str]]
) -> None:
    lower = [(name.lower().encode(), text.encode("latin-1")) for name, text in headers]
    own = [
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-request-id", secrets.token_hex(8).encode()),
    ]
    if kind is None:  # a 304 has no body, and no headers of one
        own = own[1:]
    else:
        own.append((b"content-type", kind))
    await send({"type": "http.response.start", "status": status, "headers": [*own, *lower]})
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Receive, at_most: int) -> tuple[list[Message], bytearray]:
    """Return the messages of a body until it exceeds `at_most` bytes, and its first bytes."""
    messages, body, more = [], bytearray(), True
    while more and len(body) < at_most:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")[: at_most - len(body)]
        more = message.get("more_body", False)
    return messages, body


def _again(messages: list[Message], receive: Receive) -> Receive:
    """Return a `receive` that repeats the given messages before continuing."""

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return again


def _told(send: Send, exchange: WatchedExchange) -> Send:
    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            exchange.reply_headers = {
                name.decode(): value.decode("latin-1") for name, value in message["headers"]
            }
        room = MAX_READ_BYTES - len(exchange.reply)
        exchange.reply += message.get("body", b"")[:room]
        await send(message)

    return told


def _cut(send: Send, *, is_torn: bool) -> Send:
    """Return a `send` that drops the reply, or its second half, so that the server aborts it."""
    torn = False

    async def cut(message: Message) -> None:
        nonlocal torn
        if not is_torn or torn:
            return
        body = message.get("body", b"")
        if body:
            torn = True
            message = {**message, "body": body[: len(body) // 2], "more_body": True}
        await send(message)

    return cut
