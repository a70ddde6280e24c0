"""Cross-origin requests: CORS, and protection against forged ones."""

from __future__ import annotations

from collections.abc import Collection

from starlette.responses import Response

from feedkeep.http.requests import Request

_EXPOSED = "ETag, Feedkeep-Epoch, Retry-After, X-Request-Id"
_KEPT_FOR_A_DAY = "86400"

_OF_PAGES = ("http://", "https://", "null")
"""Prefixes of the origins of web pages."""

_OF_APPS = {"http://tauri.localhost", "https://tauri.localhost"}
"""Origins of Tauri apps on Windows; on other systems it is tauri://localhost."""


def is_cross_site(request: Request, allowed: Collection[str], public_url: str) -> bool:
    """Whether a browser sent the request for a page of an origin that is not allowed.

    Browsers add remembered passwords and cookies even to forms of other sites; they name the page's
    origin, which no page can change. They never add tokens: with "*" allowed, a page that sends a
    token got it from its user (C1.15).

    Apps made of web pages, such as Cardo (Tauri), send the origin of the app.
    """
    origin = request.header("origin")
    fetched_from = request.header("sec-fetch-site")
    if not origin or origin in _OF_APPS or not origin.startswith(_OF_PAGES):
        return fetched_from in {"cross-site", "same-site"}
    if origin in allowed or fetched_from == "same-origin":
        return False
    if "*" in allowed and request.header("authorization").lower().startswith("bearer "):
        return False
    return origin.partition("://")[2] not in _own_hosts(request, public_url)


def is_from_own_page(request: Request, public_url: str) -> bool:
    """Whether a form came from a page of this service, or not from a browser.

    The settings allow no other origin here, since browsers add session cookies by themselves.
    Browsers send `Sec-Fetch-Site` only to HTTPS and localhost. Over plain HTTP, the Origin must
    match.
    """
    fetched_from = request.header("sec-fetch-site")
    if fetched_from:
        return fetched_from in {"same-origin", "none"}
    origin = request.header("origin")
    return not origin or origin.partition("://")[2] in _own_hosts(request, public_url)


def _own_hosts(request: Request, public_url: str) -> set[str]:
    own_hosts = {request.header("host"), public_url.partition("://")[2].partition("/")[0]}
    return own_hosts - {""}


class Cors:
    """CORS headers for the configured origins (C1.14); "*" allows all."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(origins)

    def is_preflight(self, request: Request) -> bool:
        """Whether this is a preflight request, which has no credential."""
        return request.method == "OPTIONS" and bool(request.header("access-control-request-method"))

    def preflight_response(self, request: Request, methods: str) -> Response:
        """Return the permitted methods and headers; `allow` adds the permitted origin."""
        return Response(
            headers={
                "Access-Control-Allow-Methods": methods,
                "Access-Control-Allow-Headers": request.header("access-control-request-headers")
                or "*",
                "Access-Control-Max-Age": _KEPT_FOR_A_DAY,
            },
        )

    def allow(self, request: Request, response: Response) -> None:
        """Let the request's origin read the response if it is configured."""
        vary = response.headers.get("Vary")
        response.headers["Vary"] = f"{vary}, Origin" if vary else "Origin"
        origin = request.header("origin")
        if origin and ("*" in self._origins or origin in self._origins):
            response.headers["Access-Control-Allow-Origin"] = (
                "*" if "*" in self._origins else origin
            )
            response.headers["Access-Control-Expose-Headers"] = _EXPOSED
