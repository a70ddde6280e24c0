"""Liveness and readiness checks."""

from __future__ import annotations

from msgspec import Struct

from feedkeep.http.draining import Draining
from feedkeep.http.error_responses import STOPPING
from feedkeep.http.json_bodies import encode
from feedkeep.http.requests import Request
from feedkeep.http.responses import JsonResponse
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
