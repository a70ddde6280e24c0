"""How podcast apps sync, in gpodder.net's API and Nextcloud's: changes by URL, episode actions."""

from __future__ import annotations

from itertools import chain

from feedkeep.http.json_bodies import encode, read_list, texts
from feedkeep.http.messages import Reply, Request
from feedkeep.http.resource import Resource, admitted, parameter
from feedkeep.http.sync_json import ChangesReply, actions_in_pieces, sent_actions, upload_reply
from feedkeep.http.sync_times import read_since
from feedkeep.rules.episode_actions import SentAction
from feedkeep.turns import LONG_BYTES, LONG_LIST, beside

_TRUE = {"true", "1", "yes"}


async def tell_changes(resource: Resource, request: Request) -> Reply:
    """Tell what was added and removed since a second."""
    since = read_since(parameter(request, "since"))
    changes, timestamp = await resource.service.url_lists.changes(
        admitted(request), since, device_of(request)
    )
    request.hold(chain(changes.add, changes.remove))
    reply = ChangesReply(changes.add, changes.remove, timestamp)
    return Reply(await beside(len(changes.add) > LONG_LIST, encode, reply))


async def receive_changes(resource: Resource, request: Request) -> Reply:
    """Add and remove."""
    wanted = await resource.json_object(request)
    added, removed = texts(wanted.get("add")), texts(wanted.get("remove"))
    resource.check_count(len(added) + len(removed))
    uploaded = await resource.service.url_lists.upload(
        admitted(request), added, removed, device_of(request)
    )
    return Reply(encode(upload_reply(uploaded)))


async def tell_actions(resource: Resource, request: Request) -> Reply:
    """Tell what came since a second; of one podcast, if it is named.

    An app that names a device is told what all have done: Music Assistant names one in what it
    asks, and none in what it sends.
    """
    told = await resource.service.episode_actions.since(
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
    uploaded = await resource.service.episode_actions.record(admitted(request), sent)
    return Reply(encode(upload_reply(uploaded)))


def _sent(resource: Resource, body: bytes) -> list[SentAction]:
    items = read_list(body)
    resource.check_count(len(items))
    return sent_actions(items)


def device_of(request: Request) -> str:
    """Return the device that the path names; "" if it names none."""
    return request.parameters.get("device", "")
