"""The ASGI application: what happens to every request."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable

import structlog

from feedkeep.errors import Forbidden, NotAuthorized, TooManyAttempts
from feedkeep.http import problems
from feedkeep.http.addresses import plain_address
from feedkeep.http.cors import Cors, is_cross_site
from feedkeep.http.doors import log_refusal
from feedkeep.http.messages import Receive, Reply, Request, Scope, Send
from feedkeep.http.routing import Door, Edge, Route, Router
from feedkeep.settings import Settings

_READING = {"GET", "HEAD"}


class Application:
    """Answers the requests of all edges."""

    def __init__(self, edges: Iterable[Edge], settings: Settings) -> None:
        self._trusted_proxies = frozenset(map(plain_address, settings.trusted_proxies))
        self._origins = frozenset(settings.cors_origins)
        self._public_url = settings.public_url
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        self._log = structlog.get_logger().bind()  # or it would be bound anew for each line
        self._router = Router(edges)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and log one line about it, without secrets and feed URLs."""
        started_ns = time.perf_counter_ns()
        request = Request(scope, receive)
        request.id = f"{random.getrandbits(64):016x}"
        request.trusted_proxies = self._trusted_proxies
        request.address = _address_of(request, self._trusted_proxies)
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


def _address_of(request: Request, trusted_proxies: Collection[str]) -> str:
    """Return the address of the client: of the last hop that is not a trusted proxy."""
    address = request.peer
    if address not in trusted_proxies:
        return address
    hops = request.header(b"x-forwarded-for").split(",")
    while address in trusted_proxies and hops:
        address = plain_address(hops.pop().strip()) or address
    return address
