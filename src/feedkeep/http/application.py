"""The ASGI application: processing of every request."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable

import structlog
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from feedkeep.config.settings import Settings, base_path
from feedkeep.http import error_responses
from feedkeep.http.authenticators import log_refusal
from feedkeep.http.compression import Compression
from feedkeep.http.cors import Cors, is_cross_site, is_from_own_page
from feedkeep.http.error_responses import NoRoom, Outages
from feedkeep.http.proxies import Proxies
from feedkeep.http.requests import Request
from feedkeep.http.routing import READING, Edge, Router, Show, Target
from feedkeep.model.errors import (
    AccountBusy,
    Forbidden,
    NotAuthorized,
    NotSignedIn,
    StoreUnavailable,
    TooManyAttempts,
)
from feedkeep.runtime.recorder import Recorder

_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?P<trace_id>(?!0{32})[0-9a-f]{32})"
    r"-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)


def trace_id_of(traceparent: str) -> str:
    """Return the trace id; "" if the header is empty or invalid.

    Later versions may append fields (section 4.3).
    """
    if not traceparent:
        return ""
    found = _TRACEPARENT.match(traceparent)
    if found is None:
        return ""
    rest = traceparent[found.end() :]
    is_valid = rest.startswith("-") if rest and found["version"] != "00" else not rest
    return found["trace_id"] if is_valid else ""


_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
_NO_STORE = (b"cache-control", b"no-store")  # C1.16

_NO_ROOM = "other requests hold all of max_in_flight_bytes"
_REMEDY = "If your proxy has this address, add it to trusted_proxies (FEEDKEEP_TRUSTED_PROXIES)."


class Application:
    """Answers the requests of all edges.

    Args:
        recorder: Counts requests.
        outages: Logs outages of the store.
    """

    def __init__(
        self,
        edges: Iterable[Edge],
        settings: Settings,
        recorder: Recorder | None = None,
        outages: Outages | None = None,
    ) -> None:
        self._recorder = recorder
        self._outages = outages
        self._compression = Compression()
        self._proxies = Proxies(settings.trusted_proxies)
        self._origins = frozenset(settings.cors_origins)
        self._public_url = settings.public_url
        self._base_path = base_path(settings)
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        self._log = structlog.get_logger().bind()  # bound once instead of for each line
        edges = list(edges)
        self._router = Router(edges)
        self._show_page = next((edge.show for edge in edges if edge.show), None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request and log it; log line and response have its id (C1.19)."""
        started_ns = time.perf_counter_ns()
        http = HTTPRequest(scope, receive, send)
        request = Request(http, self._proxies, self._base_path)
        if not request.is_proxied and request.header("x-forwarded-for"):
            self._hint_at_proxy(request)
        target, response = await self._response(request)
        if accepted := request.header("accept-encoding"):
            response = await self._compression.of(response, accepted)
        self._add_headers(request, response)
        duration_ns = time.perf_counter_ns() - started_ns
        try:
            await response(scope, receive, send)
        except (ConnectionError, ClientDisconnect):
            request.failure = "the client did not take the response"
            raise ConnectionResetError("The client has left.") from None
        except NoRoom:  # before the first byte, so another response is possible
            request.failure = _NO_ROOM
            response = error_responses.NO_ROOM.response()
            self._add_headers(request, response)
            await response(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the reply has begun: it can only be cut
            error_responses.log_cut(error, request)
        finally:  # the response is known only now
            self._note(request, target, response.status_code, duration_ns)

    def _add_headers(self, request: Request, response: Response) -> None:
        raw = response.raw_headers  # the mapping by name costs 3 microseconds per request
        raw += request.response_headers.items()
        raw += ((b"x-request-id", request.id.encode()), _NO_SNIFFING)
        if b"cache-control" not in dict(raw):
            raw.append(_NO_STORE)
        if self._cors:
            self._cors.allow(request, response)

    def _note(self, request: Request, target: Target | None, status: int, duration_ns: int) -> None:
        """Log and count a request, without secrets and feed URLs."""
        asker, route = request.asker, target.path if target else None
        traceparent = request.header("traceparent")
        trace_id = trace_id_of(traceparent) if traceparent else ""
        is_quiet = target is not None and target.route.is_polled and status == error_responses.OK
        level = logging.DEBUG if is_quiet else logging.INFO
        if status >= error_responses.INTERNAL_ERROR:
            level = logging.WARNING
        self._log.log(
            level,
            "request",
            request_id=request.id,
            method=request.method,
            route=route,
            status=status,
            duration_us=duration_ns // 1_000,
            address=request.address,
            account=asker and asker.account.name,
            credential=asker and asker.credential_kind,
            **({"reason": request.failure} if request.failure else {}),
            **({"trace_id": trace_id} if trace_id else {}),
        )
        if self._recorder:
            self._recorder.request(route, request.method, status, duration_ns / 1e9)
        if self._outages and target and status < error_responses.BAD_REQUEST:
            self._outages.succeeded((request.method, target.path))

    def _hint_at_proxy(self, request: Request) -> None:
        if self._proxies.may_hint():
            self._log.warning("X-Forwarded-For ignored", address=request.address, remedy=_REMEDY)

    async def _response(self, request: Request) -> tuple[Target | None, Response]:
        target = None
        try:
            target = self._router.find(request)
            if self._cors and self._cors.is_preflight(request):
                return target, self._cors.preflight_response(request, target.route.allow)
            if request.method not in READING:
                self._check_not_foreign(request, target)
            return target, await target.answer(request)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            if isinstance(error, NoRoom):
                request.failure = _NO_ROOM
            if isinstance(error, StoreUnavailable):
                request.failure = str(error)
                # An account that blocks itself is no outage.
                if self._outages and target and not isinstance(error, AccountBusy):
                    kind = (request.method, target.path)
                    self._outages.failed(kind, error, is_poll=target.route.is_polled)
            if isinstance(error, NotAuthorized | TooManyAttempts):
                self._log_if_refused(request, error)
            return target, error_responses.response_to(
                error, request, target, self._show(request, target)
            )

    def _show(self, request: Request, target: Target | None) -> Show | None:
        """Return the edge's error renderer; the pages' for a browser on an unknown path."""
        if target is not None:
            return target.edge.show
        # Java's client accepts HTML, too, but sends this header; browsers opening a page do not.
        wants_page = "text/html" in request.header("accept") and not request.header("authorization")
        return self._show_page if wants_page else None

    def _check_not_foreign(self, request: Request, target: Target) -> None:
        """Reject requests that a browser sent for a foreign page.

        Raises:
            Forbidden: The page's origin may not send the request.
        """
        if target.edge.is_for_own_pages:
            is_foreign = not is_from_own_page(request, self._public_url)
        else:
            is_foreign = is_cross_site(request, self._origins, self._public_url)
        if is_foreign:
            raise Forbidden("A web page of another origin may not do that.")

    def _log_if_refused(self, request: Request, error: NotAuthorized | TooManyAttempts) -> None:
        # The request's own log line names an authenticated client. A browser without a session
        # tried no credential.
        if request.asker is None and not isinstance(error, NotSignedIn):
            log_refusal(request, error)
