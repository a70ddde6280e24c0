"""The ASGI application: all routes in one block, and what happens to every request."""

from __future__ import annotations

import random
import time

import structlog

from feedkeep.api import problems
from feedkeep.api.auth import address_of, credential_of
from feedkeep.api.cors import Cors
from feedkeep.api.http import Receive, Reply, Request, Scope, Send
from feedkeep.api.reference import DocsFileResource, DocsResource, OpenApiResource
from feedkeep.api.resources import (
    DeletionResource,
    LiveResource,
    ReadyResource,
    SubscriptionResource,
    SubscriptionsResource,
)
from feedkeep.api.routing import Resource, Route, Router
from feedkeep.errors import NotAuthorized, TooManyAttempts
from feedkeep.service import Service
from feedkeep.settings import Settings

PREFIXES = ("", "/v1")
"""Every route is served at the root and under /v1 (contract, section 1)."""

_READING = {"GET", "HEAD"}


def routes(service: Service, settings: Settings) -> dict[str, Resource]:
    """Return the resource of every route."""
    return {
        "/subscriptions": SubscriptionsResource(service, settings),
        "/subscriptions/{guid}": SubscriptionResource(service, settings),
        "/deletions/{deletion_id}": DeletionResource(service),
        "/livez": LiveResource(),
        "/readyz": ReadyResource(service),
        "/openapi.json": OpenApiResource(),
        "/docs": DocsResource(),
        "/docs/{name}": DocsFileResource(),
    }


class FeedkeepApp:
    """Serves a service over HTTP."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._trusted_proxies = frozenset(settings.trusted_proxies)
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        self._log = structlog.get_logger().bind()  # or it would be bound anew for each line
        resources = routes(service, settings)
        self._router = Router(
            {prefix + path: resource for prefix in PREFIXES for path, resource in resources.items()}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and log one line about it, without secrets and feed URLs."""
        started_ns = time.perf_counter_ns()
        request = Request(scope, receive)
        request.id = f"{random.getrandbits(64):016x}"
        request.address = address_of(request, self._trusted_proxies)
        route = self._router.find(request)
        reply = await self._reply(request, route)
        reply.headers["X-Request-Id"] = request.id
        reply.headers["X-Content-Type-Options"] = "nosniff"
        reply.headers.setdefault("Cache-Control", "no-store")
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
        await reply.send(send)

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
        if not route.resource.is_public:
            await self._log_in(request)
        reply = await route.answer(request)
        if reply is None:
            raise problems.NoSuchMethod
        return reply

    async def _log_in(self, request: Request) -> None:
        """Find the account that the credential lets in; a refusal is logged, also at `warning`.

        Of whom was let in, the line of the request tells. Neither tells a name that was only
        claimed: people type passwords where the name belongs.
        """
        guid = request.parameters.get("guid") if request.method in _READING else None
        kind = "none or malformed"
        try:
            credential = credential_of(request)
            kind = credential.kind
            request.admitted = await self._service.authenticate(credential, request.address, guid)
        except (NotAuthorized, TooManyAttempts) as error:
            self._log.warning(
                "login refused",
                request_id=request.id,
                address=request.address,
                credential=kind,
                reason="too many attempts" if isinstance(error, TooManyAttempts) else "not valid",
            )
            raise
