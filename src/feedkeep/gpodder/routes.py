"""All routes of gpodder.net's API."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.gpodder.authenticator import clear_cookie
from feedkeep.gpodder.devices import (
    DeviceResource,
    DevicesResource,
    SettingsResource,
    SyncDevicesResource,
)
from feedkeep.gpodder.subscriptions import (
    FORMATS,
    AccountListResource,
    DeviceListResource,
    FavoritesResource,
    PodcastResource,
    UpdatesResource,
    written,
)
from feedkeep.http.json_bodies import encode
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.http.responses import JsonResponse
from feedkeep.http.routing import PublicRoute, Resource, Route, done
from feedkeep.service import Service
from feedkeep.url_sync.handlers import Syncing


class LoginResource(Resource):
    """/api/2/auth/{user}/login.json: the authenticator has already started the session."""

    async def post(self, _request: AdmittedRequest) -> Response:
        return done()


class LogoutResource(Resource):
    """/api/2/auth/{user}/logout.json: end the cookie's session."""

    async def post(self, request: AdmittedRequest) -> Response:
        app = request.admitted
        if app.token is not None and app.token.is_session:
            await self.service.logins.end_session(app.account.id, app.token)
        clear_cookie(request)
        return done()


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


_FORMAT = f"{{format:{FORMATS}}}"
_COUNT = "{count:[0-9]+}"
_SCOPE = "{scope:account|device|podcast|episode}"


def gpodder_routes(service: Service, settings: Settings) -> list[Route | PublicRoute]:
    """Return all routes; they precede those of the Open Podcast API (C1.2)."""
    known = (service, settings)
    device, app_settings = DeviceResource(*known), SettingsResource(*known)
    syncing = Syncing(*known)
    account_list, device_list = AccountListResource(*known), DeviceListResource(*known)
    nothing, no_podcasts = NothingResource(*known), NoPodcastsResource(*known)
    synced = SyncDevicesResource(*known)
    return [
        Route(
            "/api/2/auth/{user}/login.json", post=LoginResource(*known).post, changes_nothing=True
        ),
        Route(
            "/api/2/auth/{user}/logout.json", post=LogoutResource(*known).post, changes_nothing=True
        ),
        Route("/api/2/devices/{user}.json", get=DevicesResource(*known).get),
        Route("/api/2/devices/{user}/{device}.json", post=device.post, put=device.put),
        Route("/api/2/sync-devices/{user}.json", get=synced.get, post=synced.post),
        Route(
            "/api/2/subscriptions/{user}/{device}.json",
            get=syncing.tell_changes,
            post=syncing.receive_changes,
        ),
        Route("/api/2/updates/{user}/{device}.json", get=UpdatesResource(*known).get),
        Route(
            "/api/2/episodes/{user}.json", get=syncing.tell_actions, post=syncing.receive_actions
        ),
        Route("/api/2/episodes/{user}/{device}.json", post=syncing.receive_actions),
        Route("/api/2/data/podcast.json", get=PodcastResource(*known).get),
        Route(
            f"/api/2/settings/{{user}}/{_SCOPE}.json", get=app_settings.get, post=app_settings.post
        ),
        Route("/api/2/favorites/{user}.json", get=FavoritesResource(*known).get),
        Route("/api/2/lists/{user}.json", get=nothing.get),
        PublicRoute(f"/api/2/tags/{_COUNT}.json", get=nothing.get),
        PublicRoute(f"/api/2/tag/{{tag}}/{_COUNT}.json", get=nothing.get),
        Route(
            f"/subscriptions/{{user}}.{_FORMAT}",
            get=account_list.get,
            put=account_list.put,
            post=account_list.post,
        ),
        Route(
            f"/subscriptions/{{user}}/{{device}}.{_FORMAT}",
            get=device_list.get,
            put=device_list.put,
            post=device_list.post,
        ),
        Route(f"/suggestions/{_COUNT}.{_FORMAT}", get=no_podcasts.get),
        PublicRoute(f"/toplist/{_COUNT}.{_FORMAT}", get=no_podcasts.get),
        PublicRoute(f"/toplist.{_FORMAT}", get=no_podcasts.get),
        PublicRoute(f"/search.{_FORMAT}", get=no_podcasts.get),
        PublicRoute("/clientconfig.json", get=ClientConfigResource(*known).get),
    ]
