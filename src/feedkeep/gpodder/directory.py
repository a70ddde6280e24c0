"""The public directory of gpodder.net, which is empty here.

No list is public here, so no podcast can be recommended or counted.
"""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.gpodder.subscriptions import written
from feedkeep.http.json_bodies import encode
from feedkeep.http.requests import Request
from feedkeep.http.resource import Resource
from feedkeep.http.responses import JsonResponse

UPDATE_TIMEOUT_SECONDS = 604_800


class NoPodcastsResource(Resource):
    """/toplist, /search, /suggestions: no podcasts, in any format."""

    async def get(self, request: Request) -> Response:
        """Write the empty list."""
        return await written(request, [], {}, lambda: encode([]))


class NothingResource(Resource):
    """Lists of an account, and tags: all of them are empty."""

    async def get(self, _request: Request) -> Response:
        """Write the empty list."""
        return JsonResponse(encode([]))


class ClientConfigResource(Resource):
    """/clientconfig.json: where the API is."""

    async def get(self, request: Request) -> Response:
        """Return the addresses of the API, and how long its clients may keep them."""
        base = {"baseurl": f"{self.base_url(request)}/"}
        config = {
            "mygpo": base,
            "mygpo-feedservice": base,
            "update_timeout": UPDATE_TIMEOUT_SECONDS,
        }
        return JsonResponse(encode(config))
