"""Style, script and pictures of pages: read once, named by what is in them, and cached for good."""

from __future__ import annotations

import hashlib
from importlib import resources

from starlette.responses import Response

from feedkeep.http.requests import Request
from feedkeep.http.responses import shared
from feedkeep.http.routing import NoSuchRoute

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOR_GOOD = "public, max-age=31536000, immutable"
_NAMES = ("style.css", "script.js", "mark.svg")


class StaticFiles:
    """/static/{name}: the files, each under a name that changes with what is in it."""

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

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return self._paths[name]

    async def get(self, request: Request) -> Response:
        """Send a file of the pages, such as their style."""
        found = self._files.get(request.parameters["name"])
        if found is None:
            raise NoSuchRoute
        kind, content = found
        return shared(content, {"Content-Type": kind, "Cache-Control": _FOR_GOOD})
