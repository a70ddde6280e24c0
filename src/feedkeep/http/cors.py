"""Which other origins a browser may call this service from (the Fetch standard: CORS)."""

from __future__ import annotations

from collections.abc import Collection

from feedkeep.http.messages import Reply, Request
from feedkeep.http.routing import Route

_EXPOSED = "ETag, Retry-After, X-Request-Id"
_KEPT_FOR_A_DAY = "86400"


def is_cross_site(request: Request, allowed: Collection[str], public_url: str) -> bool:
    """Say whether a web page of an origin that is not allowed had a browser send the request.

    A browser adds the password or the cookie that it remembers, also to a form that any page sends.
    It tells where that page is from, and no page can change what it tells. A token it never adds:
    where all origins may call ("*"), a page that shows one holds it itself.
    """
    origin = request.header(b"origin")
    fetched_from = request.header(b"sec-fetch-site")
    if not origin:
        return fetched_from in {"cross-site", "same-site"}
    if origin in allowed or fetched_from == "same-origin":
        return False
    if "*" in allowed and request.header(b"authorization").lower().startswith("bearer "):
        return False
    own = {request.header(b"host"), public_url.partition("://")[2].partition("/")[0]}
    return origin.partition("://")[2] not in own - {""}


class Cors:
    """What is told to browsers about the configured origins; "*" stands for all."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(origins)

    def is_preflight(self, request: Request) -> bool:
        """Say whether a browser asks what it may send; it shows no credential then."""
        return request.method == "OPTIONS" and bool(
            request.header(b"access-control-request-method")
        )

    def preflight_reply(self, request: Request, route: Route) -> Reply:
        """Return what a browser may send, if `allow` then says that it may call at all."""
        return Reply(
            b"",
            headers={
                "Access-Control-Allow-Methods": route.allow,
                "Access-Control-Allow-Headers": request.header(b"access-control-request-headers")
                or "*",
                "Access-Control-Max-Age": _KEPT_FOR_A_DAY,
            },
        )

    def allow(self, request: Request, reply: Reply) -> None:
        """Let the request's origin read the reply, if it is one of those configured."""
        vary = reply.headers.get("Vary")
        reply.headers["Vary"] = f"{vary}, Origin" if vary else "Origin"
        origin = request.header(b"origin")
        if origin and ("*" in self._origins or origin in self._origins):
            reply.headers["Access-Control-Allow-Origin"] = "*" if "*" in self._origins else origin
            reply.headers["Access-Control-Expose-Headers"] = _EXPOSED
