"""Episode actions: what was played, and how far."""

from __future__ import annotations

from feedkeep.api.http import Reply, Request
from feedkeep.api.wire import encode
from feedkeep.gpodder.resource import Resource, admitted, parameter
from feedkeep.gpodder.times import read_since
from feedkeep.gpodder.wire import actions_in_pieces, read_list, sent_actions, upload_reply
from feedkeep.rules.episode_actions import SentAction
from feedkeep.turns import LONG_BYTES, beside

_TRUE = {"true", "1", "yes"}


class EpisodesResource(Resource):
    """/api/2/episodes/{user}.json: the account's episode actions."""

    async def get(self, request: Request) -> Reply:
        """Tell what came since a second."""
        return await tell_actions(self, request)

    async def post(self, request: Request) -> Reply:
        """Keep actions."""
        return await receive_actions(self, request)


async def tell_actions(resource: Resource, request: Request) -> Reply:
    """Tell what came since a second; of one podcast, if it is named.

    An app that names a device is told what all have done: Music Assistant names one in what it
    asks, and none in what it sends.
    """
    told = await resource.apps.actions(
        admitted(request),
        read_since(parameter(request, "since")),
        parameter(request, "podcast"),
        only_last=parameter(request, "aggregated").lower() in _TRUE,
    )
    return await Reply.in_pieces(actions_in_pieces(told))


async def receive_actions(resource: Resource, request: Request) -> Reply:
    """Keep actions."""
    body = await resource.body(request)
    sent = await beside(len(body) > LONG_BYTES, _sent, resource, body)
    uploaded = await resource.apps.record(admitted(request), sent)
    return Reply(encode(upload_reply(uploaded)))


def _sent(resource: Resource, body: bytes) -> list[SentAction]:
    items = read_list(body)
    resource.check_count(len(items))
    return sent_actions(items)
