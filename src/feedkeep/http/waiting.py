"""What clients are answered while the service waits for its database, before it can begin."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from feedkeep.http.error_responses import WAITING
from feedkeep.http.requests import own_path
from feedkeep.http.responses import JsonResponse

_LIVE = ("/livez", "/v1/livez")


class WaitingApplication:
    """The ASGI application of a process that is alive and not ready: apps come again later."""

    def __init__(self, base_path: str) -> None:
        """Take the path under which clients reach this service: "", or such as "/feedkeep"."""
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; none is logged, since the log tells what is waited for."""
        is_live = own_path(scope["path"], self._base_path) in _LIVE
        response = JsonResponse(b'{"status":"ok"}') if is_live else WAITING.response()
        response.headers["Cache-Control"] = "no-store"
        response.headers["Connection"] = "close"  # the next request may find the service
        await response(scope, receive, send)
