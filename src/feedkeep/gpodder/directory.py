"""gpodder.net's public directory, empty here.

No list is public, so no podcast can be recommended or counted.
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
    """/toplist, /search, /suggestions: empty, in each format."""

    async def get(self, request: Request) -> Response:
        return await written(request, [], {}, lambda: encode([]))


class NothingResource(Resource):
    """Podcast lists of an account, and tags: always empty."""

    async def get(self, _request: Request) -> Response:
        return JsonResponse(encode([]))


class ClientConfigResource(Resource):
    """/clientconfig.json: URLs of the API, and how long clients may cache them."""

    async def get(self, request: Request) -> Response:
        base = {"baseurl": f"{self.base_url(request)}/"}
        config = {
            "mygpo": base,
            "mygpo-feedservice": base,
            "update_timeout": UPDATE_TIMEOUT_SECONDS,
        }
        return JsonResponse(encode(config))
