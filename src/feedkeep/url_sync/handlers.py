"""Sync of podcast apps in gpodder.net's API and Nextcloud's: changes by URL, episode actions."""

from __future__ import annotations

from itertools import chain

from starlette.responses import Response

from feedkeep.http.json_bodies import encode, read_list, texts
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.responses import JsonResponse, streamed
from feedkeep.http.routing import Resource
from feedkeep.rules.episode_actions import SentAction
from feedkeep.runtime.cooperative import LONG_BYTES, LONG_LIST, in_thread_if
from feedkeep.url_sync.messages import (
    ChangesReply,
    actions_in_chunks,
    read_since,
    sent_actions,
    upload_reply,
)

_TRUE = {"true", "1", "yes"}


class Syncing(Resource):
    """The four handlers that both protocols share."""

    async def tell_changes(self, request: AdmittedRequest) -> Response:
        since = read_since(request.query("since"))
        found = await self.service.url_lists.changes(
            request.admitted, since, device_of(request), request.header("user-agent")
        )
        changes = found.changes
        request.hold(chain(changes.add, changes.removed_texts))
        reply = ChangesReply(changes.add, changes.removed_texts, found.timestamp)
        return JsonResponse(await in_thread_if(len(changes.add) > LONG_LIST, encode, reply))

    async def receive_changes(self, request: AdmittedRequest) -> Response:
        wanted = await self.json_object(request)
        added, removed = texts(wanted.get("add")), texts(wanted.get("remove"))
        self.check_count(len(added) + len(removed))
        uploaded = await self.service.url_lists.upload(
            request.admitted, added, removed, request.author(device_of(request))
        )
        return JsonResponse(encode(upload_reply(uploaded)))

    async def tell_actions(self, request: AdmittedRequest) -> Response:
        # The actions of all devices are sent even if the query names one: Music Assistant names a
        # device here, but none when it uploads.
        found = await self.service.episode_actions.since(
            request.admitted,
            read_since(request.query("since")),
            request.query("podcast"),
            only_last=request.query("aggregated").lower() in _TRUE,
            device=request.query("device"),
        )
        return await streamed(actions_in_chunks(found), is_head=request.method == "HEAD")

    async def receive_actions(self, request: AdmittedRequest) -> Response:
        body = await self.body(request)
        sent = await in_thread_if(len(body) > LONG_BYTES, self._sent, body, device_of(request))
        uploaded = await self.service.episode_actions.record(request.admitted, sent)
        return JsonResponse(encode(upload_reply(uploaded)))

    def _sent(self, body: bytes, device: str) -> list[SentAction]:
        items = read_list(body)
        self.check_count(len(items))
        return sent_actions(items, device)


def device_of(request: AdmittedRequest) -> str:
    """Return the device in the path; "" for none."""
    return request.parameters.get("device", "")
