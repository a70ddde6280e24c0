"""The resources of the interface: each translates a request to a use case, and back."""

from __future__ import annotations

import hashlib

import falcon
from falcon.asgi import Request, Response

from feedkeep.api import paging, wire
from feedkeep.api.body import read_body
from feedkeep.errors import InvalidInput
from feedkeep.service import Service
from feedkeep.settings import Settings

MAX_DELETION_ID = 2**53 - 1
"""The greatest whole number that every JSON parser reads exactly."""


class SubscriptionsResource:
    """/subscriptions: the account's list."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._max_body_bytes = settings.max_body_bytes
        self._max_items = settings.max_items
        self._public_url = settings.public_url.rstrip("/")

    async def on_get(self, req: Request, resp: Response) -> None:
        """List what changed after a stamp."""
        asked = paging.page_request(req)
        page = await self._service.page(req.context.account.id, asked)
        base = (self._public_url or req.prefix) + req.path
        reply = wire.page_reply(
            page,
            asked.page,
            asked.per_page,
            paging.next_url(base, asked, page),
            paging.previous_url(base, asked),
        )
        _answer_unless_known(req, resp, wire.encode(reply))

    on_head = on_get

    async def on_post(self, req: Request, resp: Response) -> None:
        """Add feeds."""
        request = wire.decode(wire.ADD_REQUEST, await read_body(req, self._max_body_bytes))
        if len(request.subscriptions) > self._max_items:
            raise InvalidInput(f"At most {self._max_items:,} subscriptions fit in one request.")
        results = await self._service.add(req.context.account.id, wire.items_wanted(request))
        resp.data = wire.encode(wire.add_reply(results))


class SubscriptionResource:
    """/subscriptions/{guid}: one entry of the list."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._max_body_bytes = settings.max_body_bytes

    async def on_get(self, req: Request, resp: Response, guid: str) -> None:
        """Read it."""
        view = self._service.read(req.context.admitted, guid)
        _answer_unless_known(req, resp, wire.encode(wire.subscription_reply(view)))

    on_head = on_get

    async def on_patch(self, req: Request, resp: Response, guid: str) -> None:
        """Change its feed URL, its guid, its status."""
        request = wire.decode(wire.UPDATE_REQUEST, await read_body(req, self._max_body_bytes))
        updated = await self._service.update(
            req.context.account.id,
            guid,
            new_feed_url=wire.sent(request.new_feed_url),
            new_guid=wire.sent(request.new_guid),
            is_subscribed=wire.sent(request.is_subscribed),
        )
        resp.data = wire.encode(wire.update_reply(updated))

    async def on_delete(self, req: Request, resp: Response, guid: str) -> None:
        """Delete it; a tombstone stays."""
        deletion = await self._service.delete(req.context.account.id, guid)
        resp.status = falcon.HTTP_ACCEPTED
        resp.data = wire.encode(wire.deleted_reply(deletion))


class DeletionResource:
    """/deletions/{deletion_id}: what became of a deletion."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def on_get(self, req: Request, resp: Response, deletion_id: str) -> None:
        """Read it."""
        number = paging.whole_number(deletion_id, MAX_DELETION_ID)
        deletion = await self._service.deletion(req.context.account.id, number)
        resp.data = wire.encode(wire.deletion_reply(deletion))

    on_head = on_get


class LiveResource:
    """/livez: whether the process answers; it never touches the store."""

    is_public = True

    async def on_get(self, _req: Request, resp: Response) -> None:
        """Answer."""
        resp.data = wire.encode(wire.StatusReply("ok"))

    on_head = on_get


class ReadyResource:
    """/readyz: whether the store can read and write."""

    is_public = True

    def __init__(self, service: Service) -> None:
        self._service = service

    async def on_get(self, _req: Request, resp: Response) -> None:
        """Answer, or say that the service is unavailable."""
        await self._service.assert_ready()
        resp.data = wire.encode(wire.StatusReply("ok"))

    on_head = on_get


def _answer_unless_known(req: Request, resp: Response, body: bytes) -> None:
    """Answer with the body and its ETag, or with 304 if the client has exactly this body."""
    digest = hashlib.sha256(body).hexdigest()[:32]
    resp.set_header("ETag", f'"{digest}"')
    resp.set_header("Cache-Control", "private, no-cache")
    resp.set_header("Vary", "Authorization")
    known = req.if_none_match or []
    if "*" in known or digest in known:
        resp.status = falcon.HTTP_NOT_MODIFIED
    else:
        resp.data = body
