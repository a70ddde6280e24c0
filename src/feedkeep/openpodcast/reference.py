"""The API reference: the OpenAPI document and its HTML page.

Each protocol's package has an openapi.yaml, written by hand; they are joined to one document.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from typing import Any

import yaml
from starlette.responses import RedirectResponse, Response

from feedkeep.http.compression import takes_gzip
from feedkeep.http.pages.languages import DEFAULT_LANGUAGE, UTC_NAME, Localizer
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import Request
from feedkeep.http.responses import CACHED_BY_ITS_OWNER, JsonResponse, digest_of, names, shared
from feedkeep.http.routing import Handler, NoSuchRoute
from feedkeep.openpodcast.reference_page import ReferencePage
from feedkeep.runtime.cooperative import in_thread_if

# PyYAML's wheels include libyaml; without it, parsing takes a third of each start.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REFERENCE = re.compile(r'"#/components/(\w+)/(\w+)"')
_CACHED_FOR_A_DAY = "public, max-age=86400"
_HTML = "text/html; charset=utf-8"
_ACCOUNT = "zoe"
_SERVER = "https://feeds.example"
"""Name and address in the examples."""

# Everything comes from this host, and nothing is a script.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; manifest-src 'self';"
    " form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


def openapi_document(packages: Sequence[str], base_path: str = "") -> dict[str, Any]:
    """Join the OpenAPI 3.1 documents of packages; the first provides the document's head.

    `base_path` is the path prefix of the service: "", or such as "/feedkeep".
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
    """Return one package's part of a joined document; client generators turn it into less code."""
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
    part: dict[str, Any] = yaml.load(text, _LOADER)  # noqa: S506 - a safe loader
    return part


def _add(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    assert known.keys().isdisjoint(more), "two parts of the document define the same thing"
    known.update(more)


class OpenApiResource:
    """/openapi.json.

    Attributes:
        body: The OpenAPI document as JSON.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.body = json.dumps(document).encode()

    async def get(self, _request: Request) -> Response:
        return shared(self.body, {"Content-Type": JsonResponse.media_type})


class DocsResource:
    """/docs: the document as a page, the same for all clients.

    Args:
        document: The OpenAPI document as JSON.
        protocols: Names of the protocols.
        public_url: URL of the service; "" if unknown.
    """

    def __init__(
        self, pages: Pages, document: bytes, protocols: Collection[str], public_url: str
    ) -> None:
        self._pages = pages
        self._document = document
        self._protocols = protocols
        self._url = public_url or _SERVER
        self._rendered: _Rendered | None = None

    async def get(self, request: Request) -> Response:
        if (rendered := self._rendered) is None:
            rendered = await in_thread_if(True, self._render)
        is_coded = takes_gzip(request.header("accept-encoding"))
        headers = {
            "Content-Type": _HTML,
            "Content-Security-Policy": _POLICY,
            "ETag": f'{"W/" if is_coded else ""}"{rendered.tag}"',
            **CACHED_BY_ITS_OWNER,
        }
        if names(request.header("if-none-match"), rendered.tag):
            return Response(status_code=304, headers=headers)
        if is_coded:
            return shared(rendered.coded, headers | {"Content-Encoding": "gzip"})
        return shared(rendered.plain, headers)

    def _render(self) -> _Rendered:
        # Threads render one at a time; another may have been first.
        if self._rendered is None:
            page = ReferencePage(json.loads(self._document))
            text = self._pages.render(
                "openpodcast/reference.html",
                Localizer(DEFAULT_LANGUAGE, UTC_NAME),
                page=page,
                sections=page.sections(),
                protocols=self._protocols,
                url=self._url,
                name=_ACCOUNT,
            )
            plain = text.encode()
            self._rendered = _Rendered(plain, gzip.compress(plain), digest_of(plain))
        return self._rendered


@dataclass(frozen=True, slots=True)
class _Rendered:
    """The encoded page, plain and gzipped, with its ETag."""

    plain: bytes
    coded: bytes
    tag: str


def redirect(place: str) -> Handler[Request]:
    """Return a handler that redirects to a URL relative to the request's path."""

    async def lead(_request: Request) -> Response:
        return RedirectResponse(place, 302)

    return lead


class DocsFileResource:
    """/docs/{name}: the OpenAPI documents of single protocols."""

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        self._files = {
            f"{name}.json": json.dumps(document).encode() for name, document in documents.items()
        }

    async def get(self, request: Request) -> Response:
        content = self._files.get(request.parameters["name"])
        if content is None:
            raise NoSuchRoute
        headers = {"Content-Type": JsonResponse.media_type, "Cache-Control": _CACHED_FOR_A_DAY}
        return shared(content, headers)
