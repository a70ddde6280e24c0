"""What the resources of this protocol have in common."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from feedkeep.errors import InvalidInput
from feedkeep.http.json_bodies import read_object
from feedkeep.http.requests import Request
from feedkeep.service import Service
from feedkeep.settings import Settings
from feedkeep.turns import LONG_BYTES, beside


class Resource:
    """What is at a route; if that is not public, the door has seen to it that it is the asker's."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self.service = service
        self.public_url = settings.public_url.rstrip("/")
        self._max_body_bytes = settings.max_body_bytes
        self._max_items = settings.max_items

    async def body(self, request: Request) -> bytes:
        """Return the body of a request; raises as `Request.body` does."""
        return await request.body(self._max_body_bytes)

    async def json_object(self, request: Request, *, may_be_empty: bool = False) -> dict[str, Any]:
        """Return the JSON object in a body; raises as `body` and `read_object` do."""
        body = await self.body(request)
        if may_be_empty and not body.strip():
            return {}
        return await beside(len(body) > LONG_BYTES, read_object, body)

    def check_count(self, count: int) -> None:
        """Check how many things are in one request.

        Raises:
            InvalidInput: There are too many.
        """
        if count > self._max_items:
            raise InvalidInput(f"At most {self._max_items:,} fit in one request.")


def done() -> Response:
    """Return an empty response: to mygpoclient, any other is a failure."""
    return Response(headers={"Content-Type": "text/plain"})
