"""Episode actions: what was played, and how far."""

from __future__ import annotations

from feedkeep.http.messages import Reply, Request
from feedkeep.http.resource import Resource
from feedkeep.http.syncing import receive_actions, tell_actions


class EpisodesResource(Resource):
    """/api/2/episodes/{user}.json: the account's episode actions."""

    async def get(self, request: Request) -> Reply:
        """Tell what came since a second."""
        return await tell_actions(self, request)

    async def post(self, request: Request) -> Reply:
        """Keep actions."""
        return await receive_actions(self, request)
