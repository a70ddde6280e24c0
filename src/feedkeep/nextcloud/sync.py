"""gpoddersync's four endpoints: the list and the episode actions, without devices."""

from __future__ import annotations

from feedkeep.http.messages import Reply, Request
from feedkeep.http.resource import Resource
from feedkeep.http.syncing import receive_actions, receive_changes, tell_actions, tell_changes


class SubscriptionsResource(Resource):
    """/index.php/apps/gpoddersync/subscriptions: what changed."""

    async def get(self, request: Request) -> Reply:
        """Tell what was added and removed since a second."""
        return await tell_changes(self, request)


class SubscriptionChangeResource(Resource):
    """/index.php/apps/gpoddersync/subscription_change/create: what is to change."""

    async def post(self, request: Request) -> Reply:
        """Add and remove."""
        return await receive_changes(self, request)


class EpisodeActionResource(Resource):
    """/index.php/apps/gpoddersync/episode_action: what was done with episodes."""

    async def get(self, request: Request) -> Reply:
        """Tell what came since a second."""
        return await tell_actions(self, request)


class NewEpisodeActionResource(Resource):
    """/index.php/apps/gpoddersync/episode_action/create: what was done with episodes."""

    async def post(self, request: Request) -> Reply:
        """Keep actions."""
        return await receive_actions(self, request)
