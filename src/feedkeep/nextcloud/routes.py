"""All routes that apps use of a Nextcloud, in one block."""

from __future__ import annotations

from feedkeep.http.routing import Methods
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


def nextcloud_routes(service: Service, settings: Settings) -> dict[str, Methods]:
    """Return what is at every route."""
    known = (service, settings)
    flow = FlowResource(*known)
    return {
        _LOGIN: Methods(post=BeginResource(*known).post, is_public=True),
        f"{_LOGIN}/poll": Methods(post=PollResource(*known).post, is_public=True),
        f"{_LOGIN}/flow/{{login:{LOGIN}}}": Methods(get=flow.get, post=flow.post, is_public=True),
        f"{_SYNC}/subscriptions": Methods(get=SubscriptionsResource(*known).get),
        f"{_SYNC}/subscription_change/create": Methods(
            post=SubscriptionChangeResource(*known).post
        ),
        f"{_SYNC}/episode_action": Methods(get=EpisodeActionResource(*known).get),
        f"{_SYNC}/episode_action/create": Methods(post=NewEpisodeActionResource(*known).post),
    }
