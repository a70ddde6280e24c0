"""Responses while the database is unavailable or being migrated at startup."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from feedkeep.http.refusal import Refusal
from feedkeep.http.requests import own_path
from feedkeep.http.responses import JsonResponse

_LIVE = ("/livez", "/v1/livez")


class WaitingApplication:
    """ASGI application of a process that is alive but not ready.

    Args:
        base_path: Path prefix of the service: "", or such as "/feedkeep".
        refusal: Response to every request except `/livez`.
    """

    def __init__(self, base_path: str, refusal: Refusal) -> None:
        self._base_path = base_path
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond without logging the request: the log already states the reason (C7.19)."""
        is_live = own_path(scope["path"], self._base_path) in _LIVE
        response = JsonResponse(b'{"status":"ok"}') if is_live else self._refusal.response()
        response.headers["Cache-Control"] = "no-store"
        response.headers["Connection"] = "close"  # the next request may find the service
        await response(scope, receive, send)
