"""All routes of the interface, with its reference and the service's health, in one block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from feedkeep.http.health import LiveResource, ReadyResource
from feedkeep.http.reference import DocsFileResource, DocsResource, OpenApiResource, leading_to
from feedkeep.http.routing import Methods
from feedkeep.openpodcast.resources import (
    DeletionResource,
    SubscriptionResource,
    SubscriptionsResource,
)
from feedkeep.service import Service
from feedkeep.settings import Settings


def openpodcast_routes(
    service: Service, settings: Settings, openapi: Mapping[str, Any]
) -> dict[str, Methods]:
    """Return what is at every route."""
    many = SubscriptionsResource(service, settings)
    one = SubscriptionResource(service, settings)
    document = OpenApiResource(openapi)
    return {
        "/subscriptions": Methods(get=many.get, post=many.post),
        "/subscriptions/{guid}": Methods(get=one.get, patch=one.patch, delete=one.delete),
        "/deletions/{deletion_id}": Methods(get=DeletionResource(service).get),
        "/livez": Methods(get=LiveResource().get, is_public=True),
        "/readyz": Methods(get=ReadyResource(service).get, is_public=True),
        "/openapi.json": Methods(get=document.get, is_public=True),
        "/": Methods(get=leading_to("docs"), is_public=True),
        "/docs": Methods(get=DocsResource().get, is_public=True),
        "/docs/": Methods(get=leading_to("../docs"), is_public=True),
        "/docs/{name}": Methods(get=DocsFileResource().get, is_public=True),
    }
