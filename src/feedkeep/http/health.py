"""Whether the service runs, and whether it can read and write."""

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
    """The reply to /livez and /readyz when all is well."""

    status: str


class LiveResource:
    """/livez: whether the process answers; it never touches the store."""

    async def get(self, _request: Request) -> JsonResponse:
        """Answer."""
        return JsonResponse(encode(StatusReply("ok")))


class ReadyResource:
    """/readyz: whether the store can read and write, and the process goes on.

    The former takes a commit, and anybody may ask. So the store is asked at most once a second, and
    all requests that come meanwhile share its answer.
    """

    def __init__(self, service: Service, draining: Draining) -> None:
        self._draining = draining
        self._readiness = Shared(service.assert_ready, _SHARED_SECONDS)

    async def get(self, _request: Request) -> JsonResponse:
        """Answer, or say that the service is unavailable."""
        if self._draining.has_begun:
            return STOPPING.response()
        await self._readiness.get()
        return JsonResponse(encode(StatusReply("ok")))
