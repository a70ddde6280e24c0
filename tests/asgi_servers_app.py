"""feedkeep as an application for any ASGI server, with the settings of the environment."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

from starlette.types import Receive, Scope, Send

from feedkeep.assembly import open_service
from feedkeep.config.settings import load_settings
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.http.backpressure import Draining
from feedkeep.runtime.logs import configure_logs

_settings = load_settings({}, None, os.environ)
_opened = AsyncExitStack()
_applications: list[Application] = []


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Open the service with the server's lifespan, and answer its requests."""
    if scope["type"] != "lifespan":
        await _applications[0](scope, receive, send)
        return
    while (message := await receive())["type"] == "lifespan.startup":
        configure_logs(_settings.log_level)
        service = await _opened.enter_async_context(open_service(_settings))
        _applications.append(Application(edges(service, _settings, "", Draining()), _settings))
        await send({"type": "lifespan.startup.complete"})
    assert message["type"] == "lifespan.shutdown"
    await asyncio.shield(_opened.aclose())
    await send({"type": "lifespan.shutdown.complete"})
