"""The reference for people: openapi.yaml, written by hand, and a page that shows it offline.

Each protocol's package has its own openapi.yaml; together they are one document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import openapi_ui_bundles
import yaml

from feedkeep.http.messages import Reply, Request, Send
from feedkeep.http.problems import NoSuchRoute
from feedkeep.http.routing import Handler

_HTML = "text/html; charset=utf-8"
_SCRIPT = "text/javascript"
_TEXT = "text/plain; charset=utf-8"
_STYLE = "text/css"
# libyaml's, with which PyYAML's wheels are built: without it, a third of each start is this.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PIECE_BYTES = 64 * 1024
_CACHED_FOR_A_DAY = "public, max-age=86400"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>feedkeep: the interface</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true});
"""
# Everything the page needs comes from here: no other host, no inline script.
_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)


class SharedReply(Reply):
    """A reply with a body that all clients share: none of them ever has all of it for itself."""

    async def send(self, send: Send) -> None:
        """Send it over ASGI, in pieces."""
        body = self.body or b""
        await send({"type": "http.response.start", "status": self.status, "headers": self.fields()})
        for first in range(0, len(body), _PIECE_BYTES):
            piece = body[first : first + _PIECE_BYTES]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def openapi_document(packages: Sequence[str]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document whose parts these packages have; the first has its head."""
    document, *others = map(_part, packages)
    for part in others:
        document["tags"] += part["tags"]
        _add(document["paths"], part["paths"])
        for kind, components in part["components"].items():
            _add(document["components"].setdefault(kind, {}), components)
    return document


def _part(package: str) -> dict[str, Any]:
    text = resources.files(package).joinpath("openapi.yaml").read_text("utf-8")
    part: dict[str, Any] = yaml.load(text, _LOADER)  # noqa: S506 - it is a safe one
    return part


def _add(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    assert known.keys().isdisjoint(more), "two parts of the document define the same thing"
    known.update(more)


class OpenApiResource:
    """/openapi.json: the document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._body = json.dumps(document).encode()

    async def get(self, _request: Request) -> Reply:
        """Answer with the document."""
        return SharedReply(self._body)


class DocsResource:
    """/docs: a page that shows the document."""

    async def get(self, _request: Request) -> Reply:
        """Answer with the page."""
        headers = {"Content-Type": _HTML, "Content-Security-Policy": _POLICY}
        return Reply(_PAGE.encode(), headers=headers)


def leading_to(place: str) -> Handler:
    """Return what leads people to a place beside the path that they asked for."""

    async def lead(_request: Request) -> Reply:
        return Reply(b"", 302, {"Content-Type": _TEXT, "Location": place})

    return lead


class DocsFileResource:
    """/docs/{name}: the scripts and styles of that page."""

    def __init__(self) -> None:
        folder = Path(openapi_ui_bundles.swagger_ui.static_path)
        self._files = {
            "start.js": (_SCRIPT, _START.encode()),
            "swagger-ui-bundle.js": (_SCRIPT, (folder / "swagger-ui-bundle.js").read_bytes()),
            "swagger-ui.css": (_STYLE, (folder / "swagger-ui.css").read_bytes()),
        }

    async def get(self, request: Request) -> Reply:
        """Answer with one file."""
        name = request.parameters["name"]
        if name not in self._files:
            raise NoSuchRoute
        kind, content = self._files[name]
        headers = {"Content-Type": kind, "Cache-Control": _CACHED_FOR_A_DAY}
        return SharedReply(content, headers=headers)
