"""The page that Prometheus reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

PATH = "/metrics"

_SHARED_SECONDS = 1.0
_READING = {"GET", "HEAD"}


class MetricsPage:
    """An ASGI application that has one page.

    To write it takes milliseconds, so a thread does that, once a second at most: all that ask
    meanwhile share it. `prepare` is awaited before.
    """

    def __init__(self, registry: CollectorRegistry, prepare: Callable[[], Awaitable[None]]) -> None:
        self._registry = registry
        self._prepare = prepare
        self._written_at_seconds = 0.0
        self._text: asyncio.Future[bytes] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await (await self._response(scope))(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        if scope["path"] != PATH:
            return PlainTextResponse(f"There is {PATH} only.\n", 404)
        if scope["method"] not in _READING:
            return PlainTextResponse("It can only be read.\n", 405, {"Allow": "GET, HEAD"})
        text = await asyncio.shield(self._shared_text())
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    def _shared_text(self) -> asyncio.Future[bytes]:
        now_seconds = time.monotonic()
        is_old = now_seconds - self._written_at_seconds >= _SHARED_SECONDS
        if self._text is None or (is_old and self._text.done()):
            self._written_at_seconds = now_seconds
            self._text = asyncio.ensure_future(self._written())
        return self._text

    async def _written(self) -> bytes:
        await self._prepare()
        return await asyncio.to_thread(generate_latest, self._registry)
