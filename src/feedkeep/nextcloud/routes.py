"""All routes that apps use of a Nextcloud, in one block."""

from __future__ import annotations

from feedkeep.api.routing import Resource
from feedkeep.nextcloud.login import LOGIN, BeginResource, FlowResource, PollResource
from feedkeep.nextcloud.sync import (
    EpisodeActionResource,
    NewEpisodeActionResource,
    SubscriptionChangeResource,
    SubscriptionsResource,
)
from feedkeep.service import Service
from feedkeep.settings import Settings

_LOGIN = "/index.php/login/v2"
_SYNC = "/index.php/apps/gpoddersync"


def nextcloud_routes(service: Service, settings: Settings) -> dict[str, Resource]:
    """Return the resource of every route."""
    routes = {
        _LOGIN: BeginResource,
        f"{_LOGIN}/poll": PollResource,
        f"{_LOGIN}/flow/{{login:{LOGIN}}}": FlowResource,
        f"{_SYNC}/subscriptions": SubscriptionsResource,
        f"{_SYNC}/subscription_change/create": SubscriptionChangeResource,
        f"{_SYNC}/episode_action": EpisodeActionResource,
        f"{_SYNC}/episode_action/create": NewEpisodeActionResource,
    }
    return {template: kind(service, settings) for template, kind in routes.items()}
