"""The page that Prometheus scrapes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from feedkeep.runtime.shared import Shared

PATH = "/metrics"

_SHARED_SECONDS = 1.0
_READING = {"GET", "HEAD"}


class MetricsPage:
    """ASGI application with one page.

    Rendering takes milliseconds, so a thread renders the page at most once a second, and all
    requests of that second share it.

    Args:
        prepare: Awaited before each rendering.
    """

    def __init__(self, registry: CollectorRegistry, prepare: Callable[[], Awaitable[None]]) -> None:
        self._registry = registry
        self._prepare = prepare
        self._text = Shared(self._written, _SHARED_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._response(scope))(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        if scope["path"] != PATH:
            return PlainTextResponse(f"There is {PATH} only.\n", 404)
        if scope["method"] not in _READING:
            return PlainTextResponse("It can only be read.\n", 405, {"Allow": "GET, HEAD"})
        return Response(await self._text.get(), media_type=CONTENT_TYPE_LATEST)

    async def _written(self) -> bytes:
        await self._prepare()
        return await asyncio.to_thread(generate_latest, self._registry)
