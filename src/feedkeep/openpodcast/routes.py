"""All routes of the Open Podcast API, the API reference and the health checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from feedkeep.config.settings import Settings
from feedkeep.http.backpressure import Draining
from feedkeep.http.health import LiveResource, ReadyResource
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.routing import PublicRoute, Route
from feedkeep.openpodcast.history import HistoryResource, RestoreResource, UndoResource
from feedkeep.openpodcast.reference import (
    DocsFileResource,
    DocsResource,
    OpenApiResource,
    redirect,
)
from feedkeep.openpodcast.resources import (
    DeletionResource,
    FeedResource,
    SubscriptionResource,
    SubscriptionsResource,
)
from feedkeep.service import Service


def openpodcast_routes(
    service: Service,
    settings: Settings,
    openapi: Mapping[str, Any],
    documents: Mapping[str, Mapping[str, Any]],
    draining: Draining,
    pages: Pages,
) -> list[Route | PublicRoute]:
    """Return all routes; `documents` are the OpenAPI documents of single protocols by name."""
    many = SubscriptionsResource(service, settings)
    one = SubscriptionResource(service, settings)
    restore = RestoreResource(service, settings)
    document = OpenApiResource(openapi)
    page = DocsResource(pages, document.body, list(documents), settings.public_url.rstrip("/"))
    return [
        Route("/subscriptions", get=many.get, post=many.post),
        Route("/subscriptions/{guid}", get=one.get, patch=one.patch, delete=one.delete),
        Route("/subscriptions/{guid}/feed", get=FeedResource(service).get),
        Route("/deletions/{deletion_id}", get=DeletionResource(service).get),
        Route("/history", get=HistoryResource(service, settings).get),
        Route("/history/{stamp}/undo", post=UndoResource(service, settings).post),
        Route("/restore", get=restore.get, post=restore.post),
        PublicRoute("/livez", get=LiveResource().get, is_polled=True),
        PublicRoute("/readyz", get=ReadyResource(service, draining).get, is_polled=True),
        PublicRoute("/openapi.json", get=document.get),
        PublicRoute("/docs", get=page.get),
        PublicRoute("/docs/", get=redirect("../docs")),
        PublicRoute("/docs/{name}", get=DocsFileResource(documents).get),
    ]
