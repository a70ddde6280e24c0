"""Resources of the API: translate requests for the service, and its results to replies."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.json_bodies import decode, encode
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.http.responses import CACHED_BY_ITS_OWNER, JsonResponse, digest_of, names
from feedkeep.model import View
from feedkeep.model.errors import InvalidInput
from feedkeep.openpodcast import paging, wire
from feedkeep.rules import database_restores
from feedkeep.rules.subscriptions import IsExpected, Refused, Wanted
from feedkeep.runtime.cooperative import LONG_BYTES, in_thread_if
from feedkeep.service import Service

_CACHED_BY_ITS_OWNER = [
    (name.lower().encode(), value.encode()) for name, value in CACHED_BY_ITS_OWNER.items()
]


class SubscriptionsResource:
    """/subscriptions: the account's list."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._max_body_bytes = settings.max_body_bytes
        self._max_items = settings.max_items
        self._public_url = settings.public_url.rstrip("/")

    async def get(self, request: AdmittedRequest) -> Response:
        account = request.admitted.account
        asked = paging.page_request(request.http.query_params)
        epoch = database_restores.epoch_of(account)
        page = await self._service.subscriptions.page(account, asked)
        asked = database_restores.page_to_read(account, asked)  # as the reply describes it (C6.9)
        base = (self._public_url or request.base_url) + request.path
        reply = wire.page_reply(
            page,
            asked.page,
            asked.per_page,
            paging.next_url(base, asked, page, epoch),
            paging.previous_url(base, asked),
        )
        return _response_unless_known(request, encode(reply), epoch)

    async def post(self, request: AdmittedRequest) -> Response:
        # C5.1: 200 even if every feed is refused
        body = await request.body(self._max_body_bytes)
        is_long = len(body) > LONG_BYTES
        wanted = await in_thread_if(is_long, self._wanted, body)
        added = await self._service.subscriptions.add(
            request.admitted.account.id, wanted, request.author()
        )
        return JsonResponse(
            await in_thread_if(is_long, lambda: encode(wire.add_reply(added.outcome)))
        )

    def _wanted(self, body: bytes) -> list[Wanted | Refused]:
        wanted = decode(wire.ADD_REQUEST, body)  # C5.4
        if len(wanted.subscriptions) > self._max_items:  # C1.10
            raise InvalidInput(f"At most {self._max_items:,} subscriptions fit in one request.")
        return wire.items_wanted(wanted)


class SubscriptionResource:
    """/subscriptions/{guid}: an entry of the list."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._max_body_bytes = settings.max_body_bytes

    async def get(self, request: AdmittedRequest) -> Response:
        view = self._service.subscriptions.read(request.admitted, request.parameters["guid"])
        return _response_unless_known(request, encode(wire.subscription_reply(view)))

    async def patch(self, request: AdmittedRequest) -> Response:
        # C5.28: the reply has the new ETag
        body = await request.body(self._max_body_bytes)
        is_long = len(body) > LONG_BYTES
        wanted = await in_thread_if(is_long, decode, wire.UPDATE_REQUEST, body)
        updated = await self._service.subscriptions.update(
            request.admitted.account.id,
            request.parameters["guid"],
            wire.update_wanted(wanted),
            request.author(),
            _expected_by(request),
        )
        response = JsonResponse(encode(wire.update_reply(updated)))
        # The entry under its current guid: the ETag is valid for each guid that resolves to it.
        view = View(updated.subscription, updated.subscription)
        response.raw_headers.append((b"etag", f'"{_tag_of(view)}"'.encode()))
        return response

    async def delete(self, request: AdmittedRequest) -> Response:
        deleted = await self._service.subscriptions.delete(
            request.admitted.account.id,
            request.parameters["guid"],
            request.author(),
            _expected_by(request),
        )
        return JsonResponse(encode(wire.deleted_reply(deleted.outcome)), 202)


class FeedResource:
    """/subscriptions/{guid}/feed: stored data about an entry's feed (C10.4)."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def get(self, request: AdmittedRequest) -> Response:
        view = self._service.subscriptions.read(request.admitted, request.parameters["guid"])
        feed = await self._service.known_feeds.of(view.subscription)
        return _response_unless_known(request, encode(wire.feed_reply(feed)))


class DeletionResource:
    """/deletions/{deletion_id}: a completed deletion."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def get(self, request: AdmittedRequest) -> Response:
        number = paging.whole_number(request.parameters["deletion_id"], paging.MAX_EXACT)
        deletion = await self._service.subscriptions.deletion(request.admitted.account.id, number)
        return JsonResponse(encode(wire.deletion_reply(deletion)))


def _response_unless_known(request: Request, body: bytes, epoch: str = "") -> Response:
    """Return the body with its ETag, or 304 if the client already has it (C1.17).

    The ETag covers the whole body (C1.18) and the epoch, if the reply has one (C6.4).
    """
    tag = digest_of(body + epoch.encode())
    if names(request.header("if-none-match"), tag):
        response = Response(status_code=304)
    else:
        response = JsonResponse(body)
    response.raw_headers += ((b"etag", f'"{tag}"'.encode()), *_CACHED_BY_ITS_OWNER)
    if epoch:
        response.raw_headers.append((b"feedkeep-epoch", epoch.encode()))
    return response


def _expected_by(request: Request) -> IsExpected | None:
    """Return the condition of the If-Match header; None without one (C5.27)."""
    named = request.header("if-match")
    return (lambda view: names(named, _tag_of(view))) if named else None


def _tag_of(view: View) -> str:
    return digest_of(encode(wire.subscription_reply(view)))
