"""Errors as replies: the one place that knows status codes (contract, section 7)."""

from __future__ import annotations

from dataclasses import dataclass, field

import falcon
import structlog
from falcon.asgi import Request, Response

from feedkeep.api.wire import Problem, encode
from feedkeep.errors import (
    DeletedSubscription,
    FeedkeepError,
    InvalidInput,
    NotAuthorized,
    StoreUnavailable,
    TooManyAttempts,
    UnknownSubscription,
)

CHALLENGE = 'Bearer realm="feedkeep", Basic realm="feedkeep", charset="UTF-8"'
RETRY_AFTER_SECONDS = 2

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_log = structlog.get_logger()


class BodyTooLarge(FeedkeepError):
    """A request body is larger than what is read; `str()` of it says how large it may be."""


class UnsupportedCoding(FeedkeepError):
    """A request body has a content coding; `str()` of it says what to send instead."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An error's status, its fixed text, and what a person can act on."""

    status: int
    text: str
    detail: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        """Return the one shape that all errors have."""
        message = f"{self.text} {self.detail}" if self.detail else self.text
        return encode(Problem(str(self.status), message))


HEAD_TOO_LARGE = Reply(
    431, "The request's headers are too large.", "At most 16,384 bytes of them are read."
)
UNREADABLE = Reply(400, "The request is not valid HTTP.")
UNKNOWN_METHOD = Reply(
    405, "The input could not be validated.", "", {"Allow": "GET, HEAD, POST, PATCH, DELETE"}
)
STOPPING = Reply(
    503, "The service is unavailable.", "It is stopping; try again.", {"Retry-After": "5"}
)


def reply_for(error: Exception, allow: str) -> Reply:
    """Return the reply to an error; `allow` names the methods that the route has."""
    match error:
        case NotAuthorized():
            return Reply(401, "The user is not authorized.", "", {"WWW-Authenticate": CHALLENGE})
        case UnknownSubscription() | falcon.HTTPNotFound():
            return Reply(404, "The resource was not found.")
        case InvalidInput():
            return _invalid(str(error), allow)
        case falcon.HTTPError():  # a method that the route does not have: Falcon's only other one
            return _invalid(f"This resource takes {allow}.", allow)
        case DeletedSubscription():
            return Reply(410, "The subscription has been deleted.")
        case BodyTooLarge():
            return Reply(413, "The body is too large.", str(error), {"Connection": "close"})
        case UnsupportedCoding():
            return Reply(415, "The content coding is not supported.", str(error))
        case TooManyAttempts(retry_after_seconds=seconds):
            return Reply(429, "Too many attempts.", "", {"Retry-After": str(seconds)})
        case StoreUnavailable():
            headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
            return Reply(503, "The service is unavailable.", "Try again in a moment.", headers)
        case _:
            return Reply(500, "An internal error occurred.")


async def handle(req: Request, resp: Response, error: Exception, _params: object) -> None:
    """Answer any error that a request ended in; log those that are not the client's."""
    reply = reply_for(error, allowed_methods(getattr(req.context, "resource", None)))
    if isinstance(error, StoreUnavailable):
        _log.error("store unavailable", request_id=req.context.request_id, reason=str(error))
    elif not isinstance(error, FeedkeepError | falcon.HTTPError):
        _log.error("internal error", request_id=req.context.request_id, exc_info=error)
    resp.status = reply.status
    resp.data = reply.body()
    resp.set_headers(reply.headers)


def allowed_methods(resource: object) -> str:
    """Return the methods that a resource has, as the Allow header lists them."""
    return ", ".join(name for name in _METHODS if hasattr(resource, f"on_{name.lower()}"))


def _invalid(detail: str, allow: str) -> Reply:
    headers = {"Allow": allow} if allow else {}
    return Reply(405, "The input could not be validated.", detail, headers)
