"""The ASGI application: all routes in one block, and what happens to every request."""

from __future__ import annotations

import random
import time

import structlog

from feedkeep.api import problems
from feedkeep.api.addresses import plain_address
from feedkeep.api.auth import HeaderDoor, address_of, log_refusal
from feedkeep.api.cors import Cors, is_cross_site
from feedkeep.api.http import Receive, Reply, Request, Scope, Send
from feedkeep.api.reference import (
    DocsFileResource,
    DocsResource,
    OpenApiResource,
    leading_to,
    openapi_document,
)
from feedkeep.api.resources import (
    DeletionResource,
    LiveResource,
    ReadyResource,
    SubscriptionResource,
    SubscriptionsResource,
)
from feedkeep.api.routing import Door, Edge, Methods, Route, Router
from feedkeep.errors import Forbidden, NotAuthorized, TooManyAttempts
from feedkeep.gpodder import SessionDoor, gpodder_routes
from feedkeep.nextcloud import nextcloud_routes
from feedkeep.service import Service
from feedkeep.settings import Settings

PREFIXES = ("", "/v1")
"""Every route of the interface is served at the root and under /v1 (contract, section 1)."""

DOCUMENTED = ("feedkeep.api", "feedkeep.gpodder", "feedkeep.nextcloud")
"""The packages whose openapi.yaml tells of their routes."""


_READING = {"GET", "HEAD"}


def edges(service: Service, settings: Settings) -> list[Edge]:
    """Return all routes, by protocol; a path that two have is the first one's."""
    interface = interface_routes(service, settings)
    return [
        Edge(
            gpodder_routes(service, settings),
            SessionDoor(service),
            problems.BAD_REQUEST,
        ),
        Edge(nextcloud_routes(service, settings), HeaderDoor(service), problems.BAD_REQUEST),
        Edge(
            {prefix + path: methods for prefix in PREFIXES for path, methods in interface.items()},
            HeaderDoor(service),
            problems.METHOD_NOT_ALLOWED,
        ),
    ]


def interface_routes(service: Service, settings: Settings) -> dict[str, Methods]:
    """Return what is at every route of the interface."""
    many = SubscriptionsResource(service, settings)
    one = SubscriptionResource(service, settings)
    document = OpenApiResource(openapi_document(DOCUMENTED))
    return {
        "/subscriptions": Methods(get=many.get, post=many.post),
        "/subscriptions/{guid}": Methods(get=one.get, patch=one.patch, delete=one.delete),
        "/deletions/{deletion_id}": Methods(get=DeletionResource(service).get),
        "/livez": Methods(get=LiveResource().get, is_public=True),
        "/readyz": Methods(get=ReadyResource(service).get, is_public=True),
        "/openapi.json": Methods(get=document.get, is_public=True),
        "/": Methods(get=leading_to("docs"), is_public=True),
        "/docs": Methods(get=DocsResource().get, is_public=True),
        "/docs/": Methods(get=leading_to("../docs"), is_public=True),
        "/docs/{name}": Methods(get=DocsFileResource().get, is_public=True),
    }


class FeedkeepApp:
    """Serves a service over HTTP."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._trusted_proxies = frozenset(map(plain_address, settings.trusted_proxies))
        self._origins = frozenset(settings.cors_origins)
        self._public_url = settings.public_url
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        self._log = structlog.get_logger().bind()  # or it would be bound anew for each line
        self._router = Router(edges(service, settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and log one line about it, without secrets and feed URLs."""
        started_ns = time.perf_counter_ns()
        request = Request(scope, receive)
        request.id = f"{random.getrandbits(64):016x}"
        request.trusted_proxies = self._trusted_proxies
        request.address = address_of(request, self._trusted_proxies)
        route = self._router.find(request)
        reply = await self._reply(request, route)
        if request.reply_headers:
            reply.headers |= request.reply_headers
        reply.headers["X-Request-Id"] = request.id
        reply.headers["X-Content-Type-Options"] = "nosniff"
        reply.headers.setdefault("Cache-Control", "no-store")
        reply.is_head = request.method == "HEAD"
        if self._cors:
            self._cors.allow(request, reply)
        admitted = request.admitted
        self._log.info(
            "request",
            request_id=request.id,
            method=request.method,
            route=route and route.template,
            status=reply.status,
            duration_us=(time.perf_counter_ns() - started_ns) // 1_000,
            address=request.address,
            account=admitted and admitted.account.name,
            credential=admitted and admitted.credential_kind,
        )
        try:
            await reply.send(send)
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - it has begun: no other answer can be given
            problems.log_cut(error, request)

    async def _reply(self, request: Request, route: Route | None) -> Reply:
        try:
            return await self._answer(request, route)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return problems.reply_to(error, request, route)

    async def _answer(self, request: Request, route: Route | None) -> Reply:
        """Find out who asks, and only then look at the method (contract, section 2)."""
        if route is None:
            raise problems.NoSuchRoute
        if self._cors and self._cors.is_preflight(request):
            return self._cors.preflight_reply(request, route)
        is_reading = request.method in _READING
        if not is_reading and is_cross_site(request, self._origins, self._public_url):
            raise Forbidden("A web page of another origin may not do that.")
        if not route.is_public:
            await self._log_in(request, route.edge.door)
        reply = await route.answer(request)
        if reply is None:
            raise problems.NoSuchMethod
        return reply

    async def _log_in(self, request: Request, door: Door) -> None:
        """Find out who asks. Of whom was let in, the line of the request tells."""
        try:
            request.admitted = await door.admit(request)
        except (NotAuthorized, TooManyAttempts) as error:
            log_refusal(request, error)
            raise
