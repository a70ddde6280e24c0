"""The reference for people: openapi.yaml, written by hand, and a page that shows it offline.

Each protocol's package has its own openapi.yaml; together they are one document.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

import openapi_ui_bundles
import yaml
from starlette.responses import HTMLResponse, RedirectResponse, Response

from feedkeep.http.requests import Request
from feedkeep.http.responses import JsonResponse, shared
from feedkeep.http.routing import Handler, NoSuchRoute

# libyaml, with which PyYAML's wheels are built: without it, this takes a third of each start.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REFERENCE = re.compile(r'"#/components/(\w+)/(\w+)"')
_SCRIPT = "text/javascript"
_CACHED_FOR_A_DAY = "public, max-age=86400"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>feedkeep: the interface</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<style>
@media (max-width: 40em) { .swagger-ui .opblock-tag small { display: none } }
header { font: 1rem/1.5 system-ui, sans-serif; padding: 12px 20px; color: #5b626d }
header a { color: #1d6187 }
h1 { display: inline; font: inherit; margin-left: 16px }
/* Swagger UI has no dark colours of its own. */
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark; background: #15171a }
  header { color: #a3abb6 }
  header a { color: #7cc0e8 }
  #swagger-ui { color-scheme: light; filter: invert(.9) hue-rotate(180deg) }
  #swagger-ui .microlight { filter: invert(1) hue-rotate(180deg) }
}
</style>
</head>
<body>
<header><a href="HOME">← feedkeep</a> <h1>The interface for apps</h1></header>
<main id="swagger-ui"></main>
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


def openapi_document(packages: Sequence[str], base_path: str = "") -> dict[str, Any]:
    """Return the OpenAPI 3.1 document, joined from these packages; the first one has its head.

    `base_path` is where clients reach this service: "", or such as "/feedkeep".
    """
    document, *others = map(_part, packages)
    for part in others:
        document["tags"] += part["tags"]
        _add(document["paths"], part["paths"])
        for kind, components in part["components"].items():
            _add(document["components"].setdefault(kind, {}), components)
    for part in (document, *document["paths"].values()):
        if "servers" in part:
            part["servers"] = [{"url": base_path + server["url"]} for server in part["servers"]]
    return document


def document_of_one(package: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a joined document says of one of its packages: generators make less of that."""
    part, known = _part(package), document["components"]
    paths = {path: document["paths"][path] for path in part["paths"]}
    operations = [one for item in paths.values() for one in item.values() if "responses" in one]
    needs = [*document["security"], *chain(*(one.get("security", ()) for one in operations))]
    schemes = {name: known["securitySchemes"][name] for need in needs for name in need}
    found: dict[str, dict[str, Any]] = {"securitySchemes": schemes}
    texts = [json.dumps(paths)]
    while texts:
        for kind, name in _REFERENCE.findall(texts.pop()):
            if name not in found.setdefault(kind, {}):
                found[kind][name] = known[kind][name]
                texts.append(json.dumps(found[kind][name]))
    return {
        **document,
        "info": document["info"] | part["info"],
        "tags": part["tags"],
        "paths": paths,
        "components": found,
    }


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

    async def get(self, _request: Request) -> Response:
        """Answer with the document."""
        return shared(self._body, {"Content-Type": JsonResponse.media_type})


class DocsResource:
    """/docs: a page that shows the document."""

    async def get(self, request: Request) -> Response:
        """Answer with the page."""
        page = _PAGE.replace("HOME", html.escape(f"{request.base_path}/"))
        return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})


def leading_to(place: str) -> Handler[Request]:
    """Return a handler that redirects to a place relative to the path of the request."""

    async def lead(_request: Request) -> Response:
        return RedirectResponse(place, 302)

    return lead


class DocsFileResource:
    """/docs/{name}: the scripts and styles of that page, and what it says of each protocol alone.

    They are read once. A file that is opened for each request would be held by clients that do not
    read, each of which then takes two of the files that a process may open.
    """

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the documents of single protocols, by their names."""
        folder = Path(openapi_ui_bundles.swagger_ui.static_path)
        self._files = {
            "start.js": (_SCRIPT, _START.encode()),
            "swagger-ui-bundle.js": (_SCRIPT, (folder / "swagger-ui-bundle.js").read_bytes()),
            "swagger-ui.css": ("text/css", (folder / "swagger-ui.css").read_bytes()),
        }
        for name, document in documents.items():
            content = json.dumps(document).encode()
            self._files[f"{name}.json"] = (JsonResponse.media_type, content)

    async def get(self, request: Request) -> Response:
        """Answer with one file."""
        name = request.parameters["name"]
        if name not in self._files:
            raise NoSuchRoute
        kind, content = self._files[name]
        return shared(content, {"Content-Type": kind, "Cache-Control": _CACHED_FOR_A_DAY})
