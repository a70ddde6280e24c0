"""All routes of gpodder.net's API, in one block."""

from __future__ import annotations

from feedkeep.gpodder.auth import LoginResource, LogoutResource
from feedkeep.gpodder.devices import (
    DeviceResource,
    DevicesResource,
    SettingsResource,
    SyncDevicesResource,
)
from feedkeep.gpodder.directory import ClientConfigResource, NoPodcastsResource, NothingResource
from feedkeep.gpodder.episodes import EpisodesResource
from feedkeep.gpodder.subscriptions import (
    FORMATS,
    AccountListResource,
    ChangesResource,
    DeviceListResource,
    UpdatesResource,
)
from feedkeep.http.routing import Methods
from feedkeep.service import Service
from feedkeep.settings import Settings

_FORMAT = f"{{format:{FORMATS}}}"
_COUNT = "{count:[0-9]+}"
_SCOPE = "{scope:account|device|podcast|episode}"


def gpodder_routes(service: Service, settings: Settings) -> dict[str, Methods]:
    """Return what is at every route."""
    known = (service, settings)
    device, kept = DeviceResource(*known), SettingsResource(*known)
    changes, episodes = ChangesResource(*known), EpisodesResource(*known)
    own, of_device = AccountListResource(*known), DeviceListResource(*known)
    nothing, no_podcasts = NothingResource(*known), NoPodcastsResource(*known)
    synced = SyncDevicesResource(*known)
    return {
        "/api/2/auth/{user}/login.json": Methods(post=LoginResource(*known).post),
        "/api/2/auth/{user}/logout.json": Methods(post=LogoutResource(*known).post),
        "/api/2/devices/{user}.json": Methods(get=DevicesResource(*known).get),
        "/api/2/devices/{user}/{device}.json": Methods(post=device.post, put=device.put),
        "/api/2/sync-devices/{user}.json": Methods(get=synced.get, post=synced.post),
        "/api/2/subscriptions/{user}/{device}.json": Methods(get=changes.get, post=changes.post),
        "/api/2/updates/{user}/{device}.json": Methods(get=UpdatesResource(*known).get),
        "/api/2/episodes/{user}.json": Methods(get=episodes.get, post=episodes.post),
        f"/api/2/settings/{{user}}/{_SCOPE}.json": Methods(get=kept.get, post=kept.post),
        "/api/2/favorites/{user}.json": Methods(get=nothing.get),
        "/api/2/lists/{user}.json": Methods(get=nothing.get),
        f"/api/2/tags/{_COUNT}.json": Methods(get=nothing.get, is_public=True),
        f"/api/2/tag/{{tag}}/{_COUNT}.json": Methods(get=nothing.get, is_public=True),
        f"/subscriptions/{{user}}.{_FORMAT}": Methods(get=own.get, put=own.put, post=own.post),
        f"/subscriptions/{{user}}/{{device}}.{_FORMAT}": Methods(
            get=of_device.get, put=of_device.put, post=of_device.post
        ),
        f"/suggestions/{_COUNT}.{_FORMAT}": Methods(get=no_podcasts.get),
        f"/toplist/{_COUNT}.{_FORMAT}": Methods(get=no_podcasts.get, is_public=True),
        f"/toplist.{_FORMAT}": Methods(get=no_podcasts.get, is_public=True),
        f"/search.{_FORMAT}": Methods(get=no_podcasts.get, is_public=True),
        "/clientconfig.json": Methods(get=ClientConfigResource(*known).get, is_public=True),
    }
