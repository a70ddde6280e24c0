"""Liveness, readiness, and responses of a process that is not ready."""

from __future__ import annotations

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from feedkeep.http.backpressure import Draining
from feedkeep.http.error_responses import STOPPING
from feedkeep.http.json_bodies import encode
from feedkeep.http.requests import Request, own_path
from feedkeep.http.responses import JsonResponse, Refusal
from feedkeep.runtime.shared import Shared
from feedkeep.service import Service

_SHARED_SECONDS = 1.0


class StatusReply(Struct):
    """The reply of /livez and /readyz on success."""

    status: str


class LiveResource:
    """/livez: whether the process responds, without access to the store."""

    async def get(self, _request: Request) -> JsonResponse:
        return JsonResponse(encode(StatusReply("ok")))


class ReadyResource:
    """/readyz: whether the store can read and write, and the process is not stopping.

    The check costs a commit and needs no credential, so it runs at most once a second, and
    concurrent requests share the result.
    """

    def __init__(self, service: Service, draining: Draining) -> None:
        self._draining = draining
        self._readiness = Shared(service.assert_ready, _SHARED_SECONDS)

    async def get(self, _request: Request) -> JsonResponse:
        if self._draining.has_begun:
            return STOPPING.response()
        await self._readiness.get()
        return JsonResponse(encode(StatusReply("ok")))


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
