"""Routes of the Nextcloud endpoints."""

from __future__ import annotations

from feedkeep.config.settings import Settings
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.routing import PublicRoute, Route
from feedkeep.nextcloud.login import LOGIN, BeginResource, FlowResource, PollResource
from feedkeep.service import Service
from feedkeep.url_sync.handlers import Syncing

_LOGIN = "/index.php/login/v2"
_SYNC = "/index.php/apps/gpoddersync"


def nextcloud_routes(
    service: Service, settings: Settings, pages: Pages
) -> list[Route | PublicRoute]:
    known = (service, settings)
    flow, syncing = FlowResource(*known, pages), Syncing(*known)
    return [
        PublicRoute(_LOGIN, post=BeginResource(*known).post),
        PublicRoute(f"{_LOGIN}/poll", post=PollResource(*known).post),
        PublicRoute(f"{_LOGIN}/flow/{{login:{LOGIN}}}", get=flow.get, post=flow.post),
        Route(f"{_SYNC}/subscriptions", get=syncing.tell_changes),
        Route(f"{_SYNC}/subscription_change/create", post=syncing.receive_changes),
        Route(f"{_SYNC}/episode_action", get=syncing.tell_actions),
        Route(f"{_SYNC}/episode_action/create", post=syncing.receive_actions),
    ]
