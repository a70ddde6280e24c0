"""All routes of gpodder.net's API, in one block."""

from __future__ import annotations

from feedkeep.api.routing import Resource
from feedkeep.gpodder.auth import LoginResource, LogoutResource
from feedkeep.gpodder.devices import (
    DeviceResource,
    DevicesResource,
    SettingsResource,
    SyncDevicesResource,
)
from feedkeep.gpodder.directory import (
    ClientConfigResource,
    NoPodcastsResource,
    NoSuggestionsResource,
    NoTagsResource,
    NothingResource,
)
from feedkeep.gpodder.episodes import EpisodesResource
from feedkeep.gpodder.subscriptions import (
    FORMATS,
    AccountListResource,
    ChangesResource,
    DeviceListResource,
    UpdatesResource,
)
from feedkeep.service import Service
from feedkeep.settings import Settings

_FORMAT = f"{{format:{FORMATS}}}"
_COUNT = "{count:[0-9]+}"
_SCOPE = "{scope:account|device|podcast|episode}"


def gpodder_routes(service: Service, settings: Settings) -> dict[str, Resource]:
    """Return the resource of every route."""
    routes = {
        "/api/2/auth/{user}/login.json": LoginResource,
        "/api/2/auth/{user}/logout.json": LogoutResource,
        "/api/2/devices/{user}.json": DevicesResource,
        "/api/2/devices/{user}/{device}.json": DeviceResource,
        "/api/2/sync-devices/{user}.json": SyncDevicesResource,
        "/api/2/subscriptions/{user}/{device}.json": ChangesResource,
        "/api/2/updates/{user}/{device}.json": UpdatesResource,
        "/api/2/episodes/{user}.json": EpisodesResource,
        f"/api/2/settings/{{user}}/{_SCOPE}.json": SettingsResource,
        "/api/2/favorites/{user}.json": NothingResource,
        "/api/2/lists/{user}.json": NothingResource,
        f"/api/2/tags/{_COUNT}.json": NoTagsResource,
        f"/api/2/tag/{{tag}}/{_COUNT}.json": NoTagsResource,
        f"/subscriptions/{{user}}.{_FORMAT}": AccountListResource,
        f"/subscriptions/{{user}}/{{device}}.{_FORMAT}": DeviceListResource,
        f"/suggestions/{_COUNT}.{_FORMAT}": NoSuggestionsResource,
        f"/toplist/{_COUNT}.{_FORMAT}": NoPodcastsResource,
        f"/toplist.{_FORMAT}": NoPodcastsResource,
        f"/search.{_FORMAT}": NoPodcastsResource,
        "/clientconfig.json": ClientConfigResource,
    }
    return {template: kind(service, settings) for template, kind in routes.items()}
