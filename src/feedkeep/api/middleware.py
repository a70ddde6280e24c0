"""What happens around every request: its id, its log line, and the question who is asking."""

from __future__ import annotations

import random
import time

import falcon
import structlog
from falcon.asgi import Request, Response

from feedkeep.api.auth import address_of, credential_of
from feedkeep.errors import NotAuthorized, TooManyAttempts
from feedkeep.service import Service
from feedkeep.settings import Settings

_READING = {"GET", "HEAD"}

_log = structlog.get_logger()


class Logged:
    """Gives every request an id and logs one line about it, without secrets and feed URLs."""

    def __init__(self, settings: Settings) -> None:
        self._trusted_proxies = frozenset(settings.trusted_proxies)
        self._varies_by_origin = bool(settings.cors_origins)
        self._log = structlog.get_logger().bind()  # or it would be bound anew for each line

    async def process_request(self, req: Request, resp: Response) -> None:
        """Note when and from where the request came."""
        req.context.started_ns = time.perf_counter_ns()
        req.context.request_id = f"{random.getrandbits(64):016x}"
        req.context.address = address_of(req, self._trusted_proxies)
        resp.set_header("X-Request-Id", req.context.request_id)

    async def process_response(
        self, req: Request, resp: Response, _resource: object, _succeeded: bool
    ) -> None:
        """Set what every reply carries, and log it."""
        resp.set_header("X-Content-Type-Options", "nosniff")
        if self._varies_by_origin:
            resp.append_header("Vary", "Origin")
        if resp.get_header("Cache-Control") is None:
            resp.set_header("Cache-Control", "no-store")
        account = getattr(req.context, "account", None)
        self._log.info(
            "request",
            request_id=req.context.request_id,
            method=req.method,
            route=req.uri_template,
            status=resp.status_code,
            duration_us=(time.perf_counter_ns() - req.context.started_ns) // 1_000,
            address=req.context.address,
            account=account and account.name,
            credential=getattr(req.context, "credential", None),
        )


class Authenticated:
    """Lets nobody reach a resource before it is known who asks, unless the resource is public."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._allows_preflight = bool(settings.cors_origins)

    async def process_resource(
        self, req: Request, _resp: Response, resource: object, params: dict[str, str]
    ) -> None:
        """Find the account, or refuse; only then look at the method (contract, section 2)."""
        req.context.resource = resource
        is_preflight = req.method == "OPTIONS" and req.get_header("Access-Control-Request-Method")
        if is_preflight and self._allows_preflight:
            return
        if not getattr(resource, "is_public", False):
            await self._log_in(req, params.get("guid") if req.method in _READING else None)
        if req.method == "OPTIONS":
            raise falcon.HTTPMethodNotAllowed([])

    async def _log_in(self, req: Request, guid: str | None) -> None:
        """Find the account that the credential lets in; a refusal is logged, also at `warning`.

        Of whom was let in, the line of the request tells. Neither tells a name that was only
        claimed: people type passwords where the name belongs.
        """
        kind = "none or malformed"
        try:
            credential = credential_of(req)
            kind = credential.kind
            admitted = await self._service.authenticate(credential, req.context.address, guid)
            req.context.admitted, req.context.account = admitted, admitted.account
            req.context.credential = kind
        except (NotAuthorized, TooManyAttempts) as error:
            _log.warning(
                "login refused",
                request_id=req.context.request_id,
                address=req.context.address,
                credential=kind,
                reason="too many attempts" if isinstance(error, TooManyAttempts) else "not valid",
            )
            raise
