"""The application of `feedkeep try`: the real one, with faults, and a page of what was sent."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import jinja2
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from feedkeep.http.error_responses import refusal_of
from feedkeep.model.errors import (
    FeedkeepError,
    InvalidInput,
    NotAuthorized,
    StoreUnavailable,
    TooManyAttempts,
)
from feedkeep.trial.database import TrialDatabase
from feedkeep.trial.exchanges import MAX_READ_BYTES, Exchange
from feedkeep.trial.faults import MAX_PENDING, SLOW_SECONDS, WHAT_HAPPENS, Fault
from feedkeep.trial.objections import StrictReader

PLACE = "/try"
"""Where its page is."""

MAX_EXCHANGES = 200
"""How many exchanges are shown, the newest."""

_OF_PAGES = ("/docs", "/static", "/openapi.json", "/livez", "/readyz", "/favicon.ico")
_RETRY_AFTER_SECONDS = 3
_MAX_FORM_BYTES = 4_096
_TIMES = range(1, MAX_PENDING + 1)
_NOT_MODIFIED = 304
_REFUSED: Mapping[Fault, FeedkeepError] = {
    Fault.UNAVAILABLE: StoreUnavailable("as told"),
    Fault.TOO_MANY: TooManyAttempts(_RETRY_AFTER_SECONDS),
    Fault.EXPIRED: NotAuthorized(),
}


class TrialApplication:
    """Answers as the real service does, unless it was told to fail."""

    def __init__(
        self, database: TrialDatabase, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the database; `clock` counts seconds."""
        self._database = database
        self._clock = clock
        self._reader = StrictReader()
        self._exchanges: deque[Exchange] = deque(maxlen=MAX_EXCHANGES)
        self._count = self._objection_count = 0
        self._pending: deque[Fault] = deque()
        templates = jinja2.PackageLoader("feedkeep.trial")
        environment = jinja2.Environment(loader=templates, autoescape=True)
        self._page = environment.get_template("try.html")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["path"]
        if path == PLACE or path.startswith(f"{PLACE}/"):
            response = await self._own(scope, receive)
            await response(scope, receive, send)
        elif path == "/" or path.startswith(_OF_PAGES):
            await self._database.serve(scope, receive, send)
        else:
            await self._record(scope, receive, send)

    async def _record(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an app, and keep what it sent and got."""
        self._count += 1
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["path"].removeprefix("/v1")
        query = scope["query_string"].decode("latin-1")
        exchange = Exchange(self._count, self._clock(), scope["method"], path, query, headers)
        exchange.fault = self._fault_of(exchange)
        self._exchanges.appendleft(exchange)
        try:
            await self._answer(exchange, scope, _kept(receive, exchange), _told(send, exchange))
        finally:
            exchange.objections = self._reader.read(exchange)
            self._objection_count += len(exchange.objections)
            exchange.shorten()

    def _fault_of(self, exchange: Exchange) -> Fault | None:
        if not self._pending:
            return None
        is_asked = exchange.method == "GET" and "if-none-match" in exchange.headers
        if self._pending[0] is Fault.UNCHANGED and not is_asked:
            return None
        return self._pending.popleft()

    async def _answer(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        fault = exchange.fault
        if error := fault and _REFUSED.get(fault):
            response: Response = refusal_of(error, "").response()
            response.headers.update(_headers())
            await response(scope, receive, send)
        elif fault is Fault.UNCHANGED:
            etag = exchange.headers["if-none-match"].partition(",")[0]
            response = Response(status_code=_NOT_MODIFIED, headers=_headers() | {"ETag": etag})
            await response(scope, receive, send)
        elif fault in {Fault.LOST, Fault.TORN}:
            await self._database.serve(scope, receive, _cut(send, is_torn=fault is Fault.TORN))
        else:
            if fault is Fault.SLOW:
                await asyncio.sleep(SLOW_SECONDS)
            await self._database.serve(scope, receive, send)

    async def _own(self, scope: Scope, receive: Receive) -> Response:
        """Answer a request of its own page, or of a test that tells it what to do."""
        path, method = scope["path"].removeprefix(PLACE), scope["method"]
        if (path, method) in {("", "GET"), ("", "HEAD")}:
            return HTMLResponse(self._shown(stays=b"stay" in scope["query_string"]))
        if (path, method) == ("/requests.json", "GET"):
            return JSONResponse(self._told())
        if method == "POST" and path in {"/faults", "/keep", "/restore"}:
            try:
                await self._do(path, await _form(receive))
            except InvalidInput as error:
                return JSONResponse({"code": "400", "message": str(error)}, 400)
            is_browser = b"text/html" in dict(scope["headers"]).get(b"accept", b"")
            return RedirectResponse(f"..{PLACE}", 303) if is_browser else JSONResponse({})
        return JSONResponse({"code": "404", "message": "The page has no such place."}, 404)

    async def _do(self, what: str, form: Mapping[str, str]) -> None:
        if what == "/keep":
            await self._database.keep()
        elif what == "/restore":
            await self._database.restore()
        else:
            self._pending.extend(_faults_of(form, MAX_PENDING - len(self._pending)))

    def _told(self) -> dict[str, Any]:
        """Return the newest exchanges for a test, the oldest of them first."""
        requests = [
            {
                "number": one.number,
                "method": one.method,
                "target": one.target,
                "status": one.status,
                "fault": one.fault,
                "objections": one.objections,
            }
            for one in reversed(self._exchanges)
        ]
        return {"objections": self._objection_count, "requests": requests}

    def _shown(self, *, stays: bool) -> str:
        return self._page.render(
            exchanges=list(self._exchanges),
            objections=self._objection_count,
            faults=WHAT_HAPPENS,
            pending=list(self._pending),
            stays=stays,
        )


def _faults_of(form: Mapping[str, str], room: int) -> list[Fault]:
    """Return the faults that a form asks for.

    Raises:
        InvalidInput: There is no such fault, or no room for so many.
    """
    times = form.get("times", "1")
    if form.get("fault") not in set(Fault):
        raise InvalidInput(f"fault is one of {', '.join(Fault)}.")
    if not times.isdecimal() or int(times) not in _TIMES or int(times) > room:
        raise InvalidInput(f"times is from 1 to {MAX_PENDING}, together with those that wait.")
    return [Fault(form["fault"])] * int(times)


async def _form(receive: Receive) -> dict[str, str]:
    """Return the fields of a form, or of a JSON object."""
    body = bytearray()
    more = True
    while more and len(body) < _MAX_FORM_BYTES:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    try:
        found = json.loads(body)
    except ValueError:
        return dict(parse_qsl(body.decode("utf-8", "replace")))
    return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _headers() -> dict[str, str]:
    return {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Request-Id": secrets.token_hex(8),
    }


def _kept(receive: Receive, exchange: Exchange) -> Receive:
    async def kept() -> Message:
        message = await receive()
        room = MAX_READ_BYTES - len(exchange.body)
        exchange.body += message.get("body", b"")[:room]
        return message

    return kept


def _told(send: Send, exchange: Exchange) -> Send:
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
    """Return what sends no reply, or the first half of it: the server cuts what has no end."""
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
