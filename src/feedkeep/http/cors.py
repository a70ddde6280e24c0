"""Which other origins a browser may call this service from (the Fetch standard: CORS)."""

from __future__ import annotations

from collections.abc import Collection

from starlette.responses import Response

from feedkeep.http.requests import Request

_EXPOSED = "ETag, Feedkeep-Epoch, Retry-After, X-Request-Id"
_KEPT_FOR_A_DAY = "86400"

_OF_PAGES = ("http://", "https://", "null")
"""What the origins of pages that a browser has from a host begin with."""

_OF_APPS = {"http://tauri.localhost", "https://tauri.localhost"}
"""The origins of apps whose pages are in the app, on Windows; elsewhere it is tauri://localhost."""


def is_cross_site(request: Request, allowed: Collection[str], public_url: str) -> bool:
    """Say whether a web page of an origin that is not allowed made a browser send the request.

    A browser adds a password or cookie that it remembers even to a form of another site's page. It
    also says which origin the page is from, and no page can change that. A browser never adds a
    token: if all origins may call ("*"), a page that sends a token has it from its user (C1.15).

    An app that is made of pages has an origin, too, and sends it where it asks as an app and not as
    a browser: Cardo, by Tauri.
    """
    origin = request.header("origin")
    fetched_from = request.header("sec-fetch-site")
    if not origin or _is_of_app(origin):
        return fetched_from in {"cross-site", "same-site"}
    if origin in allowed or fetched_from == "same-origin":
        return False
    if "*" in allowed and request.header("authorization").lower().startswith("bearer "):
        return False
    return origin.partition("://")[2] not in _own_hosts(request, public_url)


def is_from_own_page(request: Request, public_url: str) -> bool:
    """Say whether a page of this service made a browser send a form; or no browser sent it.

    No other origin is allowed here, whatever the settings say, since a browser adds the cookie of a
    session by itself. `Sec-Fetch-Site` is what a browser itself has judged, but it is sent to HTTPS
    and to this machine only. Over plain HTTP, the Origin has to be ours.
    """
    fetched_from = request.header("sec-fetch-site")
    if fetched_from:
        return fetched_from in {"same-origin", "none"}
    origin = request.header("origin")
    return not origin or origin.partition("://")[2] in _own_hosts(request, public_url)


def _is_of_app(origin: str) -> bool:
    return origin in _OF_APPS or not origin.startswith(_OF_PAGES)


def _own_hosts(request: Request, public_url: str) -> set[str]:
    own_hosts = {request.header("host"), public_url.partition("://")[2].partition("/")[0]}
    return own_hosts - {""}


class Cors:
    """The headers that let pages of the configured origins call (C1.14); "*" means all."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(origins)

    def is_preflight(self, request: Request) -> bool:
        """Say whether a browser asks what it may send; such a request has no credential."""
        return request.method == "OPTIONS" and bool(request.header("access-control-request-method"))

    def preflight_response(self, request: Request, methods: str) -> Response:
        """Return what a browser may send; the headers of `allow` say whether it may call at all."""
        return Response(
            headers={
                "Access-Control-Allow-Methods": methods,
                "Access-Control-Allow-Headers": request.header("access-control-request-headers")
                or "*",
                "Access-Control-Max-Age": _KEPT_FOR_A_DAY,
            },
        )

    def allow(self, request: Request, response: Response) -> None:
        """Let the request's origin read the response, if it is one of those configured."""
        vary = response.headers.get("Vary")
        response.headers["Vary"] = f"{vary}, Origin" if vary else "Origin"
        origin = request.header("origin")
        if origin and ("*" in self._origins or origin in self._origins):
            response.headers["Access-Control-Allow-Origin"] = (
                "*" if "*" in self._origins else origin
            )
            response.headers["Access-Control-Expose-Headers"] = _EXPOSED
