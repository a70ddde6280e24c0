"""Base class of the resources for podcast apps."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.json_bodies import read_object
from feedkeep.http.requests import Request
from feedkeep.model.errors import InvalidInput
from feedkeep.runtime.cooperative import LONG_BYTES, in_thread_if
from feedkeep.service import Service


class Resource:
    """Handles the requests of a route."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self.service = service
        self.public_url = settings.public_url.rstrip("/")
        self._max_body_bytes = settings.max_body_bytes
        self.max_items = settings.max_items

    def base_url(self, request: Request) -> str:
        """Return the scheme and host for links to pages."""
        return self.public_url or request.base_url

    async def body(self, request: Request) -> bytes:
        """Return the request's body; raises as `Request.body` does."""
        return await request.body(self._max_body_bytes)

    async def json_object(self, request: Request, *, may_be_empty: bool = False) -> dict[str, Any]:
        """Return the JSON object in a body; raises as `body` and `read_object` do."""
        body = await self.body(request)
        if may_be_empty and not body.strip():
            return {}
        return await in_thread_if(len(body) > LONG_BYTES, read_object, body)

    def check_count(self, count: int) -> None:
        """Check the number of items in a request (C1.10).

        Raises:
            InvalidInput: There are more than `max_items`.
        """
        if count > self.max_items:
            raise InvalidInput(f"At most {self.max_items:,} items fit in one request.")


def done() -> Response:
    """Return an empty response; mygpoclient takes any content for a failure."""
    return Response(headers={"Content-Type": "text/plain"})
