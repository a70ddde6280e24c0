"""The responses to errors, with all status codes (contract, section 7), and the log of outages."""

from __future__ import annotations

import asyncio
import time
from typing import TypeAlias

import structlog
from starlette.responses import Response

from feedkeep.http.requests import BodyTooLarge, Request, UnsupportedCoding
from feedkeep.http.responses import Refusal
from feedkeep.http.routing import NoSuchMethod, NoSuchRoute, Show, Target
from feedkeep.model.errors import (
    AppPasswordNeeded,
    ChangedSince,
    DeletedSubscription,
    FeedkeepError,
    Forbidden,
    InvalidInput,
    NotAuthorized,
    PreconditionFailed,
    StoreReadOnly,
    StoreUnavailable,
    TooManyAttempts,
    UnknownChange,
    UnknownSubscription,
)

CHALLENGES = ('Basic realm="feedkeep", charset="UTF-8"', 'Bearer realm="feedkeep"')
"""A field each (C7.18): Java's HttpClient 4 overlooks Basic in a field that begins with Bearer."""
RETRY_AFTER_SECONDS = 2

OK, SEE_OTHER = 200, 303
BAD_REQUEST, FORBIDDEN, METHOD_NOT_ALLOWED, CONFLICT, INTERNAL_ERROR = 400, 403, 405, 409, 500
INVALID = "The input could not be validated."
MAX_CHANGES_SINCE = 1_000
"""Maximum number of conflicting changes in a response, the newest."""

_log = structlog.get_logger()


class NoRoom(FeedkeepError):
    """Other requests use all the memory for bodies and responses."""


class BodyTooSlow(FeedkeepError):
    """A client took too long to send a body."""


HEAD_TOO_LARGE = Refusal(
    431,
    "The request's headers are too large.",
    "At most 100 of them are read, and 16,384 bytes.",
)
HEAD_TOO_SLOW = Refusal(408, "The request's headers took too long.", "Send it again.")
UNREADABLE = Refusal(400, "The request is not valid HTTP.")  # C7.14
# C7.15
UNKNOWN_CODING = Refusal(
    501, "The transfer coding is not supported.", "Send the body as it is, or chunked."
)
# C7.9
TOO_SLOW = Refusal(408, "The body took too long.", "Send it again.", {"Connection": "close"})
# C7.12
NO_ROOM = Refusal(
    503,
    "The service is unavailable.",
    "Too much is under way; try again in a moment.",
    {"Retry-After": "5", "Connection": "close"},
)
# C7.12
STOPPING = Refusal(
    503, "The service is unavailable.", "It is stopping; try again.", {"Retry-After": "5"}
)

WAITING = Refusal(
    503, "The service is unavailable.", "Its database is away; try again.", {"Retry-After": "5"}
)

# C7.19
MIGRATING = Refusal(
    503,
    "The service is unavailable.",
    "The schema of its database is being brought up to date; try again later.",
    {"Retry-After": "5"},
)

READ_ONLY = Refusal(
    503,
    "The service is unavailable.",
    "Its disk is full or read-only: lists can be read, and not changed. Try again later.",
    {"Retry-After": str(RETRY_AFTER_SECONDS)},
)

_NOT_FOUND = Refusal(404, "The resource was not found.")
_NOT_AUTHORIZED = "The user is not authorized."
_FIXED = {
    NotAuthorized: Refusal(401, _NOT_AUTHORIZED, challenges=CHALLENGES),  # C7.3
    # C7.5
    UnknownSubscription: _NOT_FOUND,
    UnknownChange: _NOT_FOUND,
    NoSuchRoute: _NOT_FOUND,
    DeletedSubscription: Refusal(410, "The subscription has been deleted."),  # C7.7
    # C7.17
    PreconditionFailed: Refusal(
        412, "The subscription has changed.", "Read it again, and send what still applies."
    ),
    BodyTooSlow: TOO_SLOW,
    NoRoom: NO_ROOM,
    StoreReadOnly: READ_ONLY,
}
"""Errors with the same response on every route."""


def refusal_of(error: Exception, allow: str, invalid_status: int = METHOD_NOT_ALLOWED) -> Refusal:
    """Return the response to an error; `allow` lists the methods of the route."""
    fixed = next((refusal for kind, refusal in _FIXED.items() if isinstance(error, kind)), None)
    if fixed and not isinstance(error, AppPasswordNeeded):
        return fixed
    match error:
        case AppPasswordNeeded():
            return Refusal(401, _NOT_AUTHORIZED, str(error), challenges=CHALLENGES)
        case Forbidden():  # C7.4
            return Refusal(FORBIDDEN, str(error))
        case InvalidInput() if invalid_status != METHOD_NOT_ALLOWED:
            return Refusal(invalid_status, INVALID, str(error))
        case InvalidInput():  # C7.6
            return _invalid(str(error), allow)
        case ChangedSince(stamps=stamps):  # C7.8
            told = stamps[:MAX_CHANGES_SINCE]
            return Refusal(CONFLICT, "It cannot be undone as it is.", str(error), {}, told)
        case NoSuchMethod():  # C7.6
            return _invalid(f"This resource takes {allow}.", allow)
        case BodyTooLarge():  # C7.10
            return Refusal(413, "The body is too large.", str(error), {"Connection": "close"})
        case UnsupportedCoding():  # C7.10
            return Refusal(415, "The content coding is not supported.", str(error))
        case TooManyAttempts(retry_after_seconds=seconds):  # C7.11
            wait = f"Try again after {seconds} seconds."
            return Refusal(429, "Too many attempts.", wait, {"Retry-After": str(seconds)})
        case StoreUnavailable():  # C7.12
            headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
            return Refusal(503, "The service is unavailable.", "Try again in a moment.", headers)
        case _:  # a defect; no client may take it for a 404 (C7.13, C7.16)
            return Refusal(INTERNAL_ERROR, "An internal error occurred.")


def response_to(
    error: Exception, request: Request, target: Target | None, show: Show | None = None
) -> Response:
    """Return the response to any error, as JSON unless `show` is given; log defects."""
    if target is None:
        refusal = refusal_of(error, "")
    else:
        refusal = refusal_of(error, target.route.allow, target.edge.invalid_status)
    if refusal.status == INTERNAL_ERROR:
        route = target.path if target else None
        _log.error("internal error", request_id=request.id, route=route, exc_info=error)
    return show(error, request, refusal) if show else refusal.response()


def log_cut(error: Exception, request: Request) -> None:
    """Log a response that was cut because the rest of it could not be read."""
    is_defect = not isinstance(error, StoreUnavailable)
    known = {"exc_info": error} if is_defect else {"reason": str(error)}
    _log.error("reply cut", request_id=request.id, **known)


def _invalid(detail: str, allow: str) -> Refusal:
    headers = {"Allow": allow} if allow else {}
    return Refusal(METHOD_NOT_ALLOWED, INVALID, detail, headers)


QUIET_SECONDS = 6.0
"""An outage ends after this long without a failure; PostgreSQL's statements time out after 5 s."""

Kind: TypeAlias = tuple[str, str]
"""Method and route of a request."""


class Outages:
    """Logs when requests begin to fail because of the store, and when they succeed again.

    An outage ends when a kind of request that failed succeeds, and none fails for `QUIET_SECONDS`
    after it. Success of other kinds shows nothing: a single table may be locked, or a single
    machine of a cluster be down.
    """

    def __init__(self) -> None:
        self._failed_kinds: set[Kind] = set()
        self._failed_requests = 0
        self._began = 0.0
        self._ending: asyncio.TimerHandle | None = None

    def failed(self, kind: Kind, error: StoreUnavailable, *, is_poll: bool) -> None:
        """Record a failed request; health polls are not counted."""
        if not self._failed_kinds:
            self._began = time.monotonic()
            _log.error("store outage began", reason=str(error))
        if self._ending:
            self._ending.cancel()
            self._ending = None
        self._failed_kinds.add(kind)
        self._failed_requests += not is_poll

    def succeeded(self, kind: Kind) -> None:
        if kind in self._failed_kinds and self._ending is None:
            seconds = round(time.monotonic() - self._began, 1)
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(QUIET_SECONDS, self._end, seconds)

    def _end(self, seconds: float) -> None:
        _log.warning(
            "store outage ended", duration_seconds=seconds, failed_requests=self._failed_requests
        )
        self._failed_kinds.clear()
        self._failed_requests = 0
        self._ending = None
