"""The reference for people: openapi.yaml, written by hand, and a page that shows it.

Each protocol's package has its own openapi.yaml; together they are one document.
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
from feedkeep.http.etags import CACHED_BY_ITS_OWNER, digest_of, names
from feedkeep.http.pages.languages import DEFAULT_LANGUAGE, UTC_NAME, Words
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import Request
from feedkeep.http.responses import JsonResponse, shared
from feedkeep.http.routing import Handler, NoSuchRoute
from feedkeep.openpodcast.reference_page import ReferencePage
from feedkeep.runtime.cooperative import in_thread_if

# libyaml, with which PyYAML's wheels are built: without it, this takes a third of each start.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REFERENCE = re.compile(r'"#/components/(\w+)/(\w+)"')
_CACHED_FOR_A_DAY = "public, max-age=86400"
_HTML = "text/html; charset=utf-8"
_ACCOUNT = "zoe"
_SERVER = "https://feeds.example"
"""Name and address that the examples have."""

# Everything the page needs comes from here, and nothing of it is a script.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; manifest-src 'self';"
    " form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
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
    """/openapi.json: the document.

    Attributes:
        body: The document as JSON.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.body = json.dumps(document).encode()

    async def get(self, _request: Request) -> Response:
        """Answer with the document."""
        return shared(self.body, {"Content-Type": JsonResponse.media_type})


class DocsResource:
    """/docs: the document as a page, which is the same for everyone."""

    def __init__(
        self, pages: Pages, document: bytes, protocols: Collection[str], public_url: str
    ) -> None:
        """Take the document as JSON, the names of the protocols, and the URL of the service."""
        self._pages = pages
        self._document = document
        self._protocols = protocols
        self._url = public_url or _SERVER
        self._rendered: _Rendered | None = None

    async def get(self, request: Request) -> Response:
        """Answer with the page, or with 304 if the client has it."""
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
        # Threads render one by one: another may have been first.
        if self._rendered is None:
            page = ReferencePage(json.loads(self._document))
            text = self._pages.render(
                "openpodcast/reference.html",
                Words(DEFAULT_LANGUAGE, UTC_NAME),
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
    """The page as it is sent, plain and by gzip, with its ETag."""

    plain: bytes
    coded: bytes
    tag: str


def leading_to(place: str) -> Handler[Request]:
    """Return a handler that redirects to a place relative to the path of the request."""

    async def lead(_request: Request) -> Response:
        return RedirectResponse(place, 302)

    return lead


class DocsFileResource:
    """/docs/{name}: the documents of single protocols."""

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the documents by their names."""
        self._files = {
            f"{name}.json": json.dumps(document).encode() for name, document in documents.items()
        }

    async def get(self, request: Request) -> Response:
        """Answer with one document."""
        content = self._files.get(request.parameters["name"])
        if content is None:
            raise NoSuchRoute
        headers = {"Content-Type": JsonResponse.media_type, "Cache-Control": _CACHED_FOR_A_DAY}
        return shared(content, headers)
