"""Routes and authenticators of all protocols, and their joint OpenAPI document."""

from __future__ import annotations

from feedkeep.config.settings import Settings, base_path
from feedkeep.feeds.first_looks import FirstLooks
from feedkeep.gpodder import SessionAuthenticator, gpodder_routes
from feedkeep.http import error_responses
from feedkeep.http.authenticators import HeaderAuthenticator
from feedkeep.http.backpressure import Draining
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.routing import Edge
from feedkeep.nextcloud import nextcloud_routes
from feedkeep.openpodcast import openpodcast_routes
from feedkeep.openpodcast.reference import document_of_one, openapi_document
from feedkeep.service import Service
from feedkeep.web import web_edge

PREFIXES = ("", "/v1")
"""Each route of the interface is served at the root and under /v1 (C1.1)."""

DOCUMENTED = ("feedkeep.openpodcast", "feedkeep.gpodder", "feedkeep.nextcloud")
"""Packages whose openapi.yaml describes their routes."""


def edges(
    service: Service,
    settings: Settings,
    first_secret: str = "",
    draining: Draining | None = None,
    looks: FirstLooks | None = None,
) -> list[Edge]:
    """Return the edges of all protocols; on equal paths, the first one answers.

    `first_secret` is the secret of the link for the first account, "" without one; `draining`
    announces a stop; `looks` finds the feeds behind typed addresses.
    """
    document = openapi_document(DOCUMENTED, base_path(settings))
    alone = {name.rpartition(".")[2]: document_of_one(name, document) for name in DOCUMENTED}
    pages = Pages(base_path(settings))
    interface = openpodcast_routes(
        service, settings, document, alone, draining or Draining(), pages
    )
    return [
        web_edge(service, settings, pages, first_secret, looks),
        Edge(
            gpodder_routes(service, settings),
            SessionAuthenticator(service),
            error_responses.BAD_REQUEST,
        ),
        Edge(
            nextcloud_routes(service, settings, pages),
            HeaderAuthenticator(service),
            error_responses.BAD_REQUEST,
        ),
        Edge(interface, HeaderAuthenticator(service), error_responses.METHOD_NOT_ALLOWED, PREFIXES),
    ]
