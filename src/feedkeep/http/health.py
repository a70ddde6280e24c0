"""Whether the service runs, and whether it can read and write."""

from __future__ import annotations

import asyncio
import time

from msgspec import Struct

from feedkeep.http.draining import Draining
from feedkeep.http.error_responses import STOPPING
from feedkeep.http.json_bodies import encode
from feedkeep.http.requests import Request
from feedkeep.http.responses import JsonResponse
from feedkeep.service import Service


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
        self._service = service
        self._draining = draining
        self._asked_at_seconds = 0.0
        self._answer: asyncio.Future[None] | None = None

    async def get(self, _request: Request) -> JsonResponse:
        """Answer, or say that the service is unavailable."""
        if self._draining.has_begun:
            return STOPPING.response()
        await asyncio.shield(self._shared_answer())
        return JsonResponse(encode(StatusReply("ok")))

    def _shared_answer(self) -> asyncio.Future[None]:
        now_seconds = time.monotonic()
        is_old = now_seconds - self._asked_at_seconds >= 1
        if self._answer is None or (is_old and self._answer.done()):
            self._asked_at_seconds = now_seconds
            self._answer = asyncio.ensure_future(self._service.assert_ready())
        return self._answer
