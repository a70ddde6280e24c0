"""Static files: read at startup, named by their content, and cached permanently.

Browsers find two others by fixed names: the icon, and the manifest that lets phones install the
pages as an app and share links with it (W3C Web Application Manifest; the share target only fills
in the form).
"""

from __future__ import annotations

import hashlib
from importlib import resources

import msgspec
from starlette.responses import Response

from feedkeep.http.requests import Request
from feedkeep.http.responses import shared
from feedkeep.http.routing import NoSuchRoute

_TYPES = {
    "css": "text/css; charset=utf-8",
    "ico": "image/x-icon",
    "js": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
}
_FOR_GOOD = "public, max-age=31536000, immutable"
_FOR_A_DAY = "public, max-age=86400"
_ICON = "favicon.ico"
_SQUARES = {"icon-192.png": 192, "icon-512.png": 512}
_NAMES = ("style.css", "script.js", "mark.svg", _ICON, *_SQUARES)


class StaticFiles:
    """/static/{name}: files under names that contain a hash of the content."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, bytes]] = {}
        self._paths: dict[str, str] = {}
        folder = resources.files(__package__).joinpath("static")
        for name in _NAMES:
            content = folder.joinpath(name).read_bytes()
            stem, _, ending = name.partition(".")
            hashed = f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}"
            self._files[hashed] = (_TYPES[ending], content)
            self._paths[name] = f"/static/{hashed}"

        self._icon = folder.joinpath(_ICON).read_bytes()
        self._manifest = msgspec.json.encode(self._described())

    def path(self, name: str) -> str:
        return self._paths[name]

    async def get(self, request: Request) -> Response:
        """Send a static file, such as the style sheet."""
        found = self._files.get(request.parameters["name"])
        if found is None:
            raise NoSuchRoute
        kind, content = found
        return shared(content, {"Content-Type": kind, "Cache-Control": _FOR_GOOD})

    async def icon(self, _request: Request) -> Response:
        """Send the icon that browsers request by default."""
        return shared(self._icon, {"Content-Type": _TYPES["ico"], "Cache-Control": _FOR_A_DAY})

    async def manifest(self, _request: Request) -> Response:
        """Send the manifest, with which phones install the pages and share links with them."""
        headers = {"Content-Type": "application/manifest+json", "Cache-Control": _FOR_A_DAY}
        return shared(self._manifest, headers)

    def _described(self) -> dict[str, object]:
        # Relative URLs, so that they work under a base path.
        icons = [
            {
                "src": self._paths[name].lstrip("/"),
                "sizes": f"{side}x{side}",
                "type": "image/png",
                "purpose": purpose,
            }
            for name, side in _SQUARES.items()
            for purpose in ("any", "maskable")
        ]
        return {
            "name": "feedkeep",
            "short_name": "feedkeep",
            "id": "./",
            "start_url": "./",
            "scope": "./",
            "display": "minimal-ui",
            "background_color": "#ffffff",
            "theme_color": "#1d6187",
            "icons": icons,
            "share_target": {
                "action": "./",
                "method": "GET",
                "params": {"title": "title", "text": "text", "url": "url"},
            },
        }
