"""The ASGI application: all routes in one block, what surrounds them, and how errors end."""

from __future__ import annotations

from typing import Any

import falcon
import falcon.asgi

from feedkeep.api import problems
from feedkeep.api.middleware import Authenticated, Logged
from feedkeep.api.reference import DocsFileResource, DocsResource, OpenApiResource
from feedkeep.api.resources import (
    DeletionResource,
    LiveResource,
    ReadyResource,
    SubscriptionResource,
    SubscriptionsResource,
)
from feedkeep.service import Service
from feedkeep.settings import Settings

PREFIXES = ("", "/v1")
"""Every route is served at the root and under /v1 (contract, section 1)."""

App = falcon.asgi.App[Any, Any]


def routes(service: Service, settings: Settings) -> dict[str, object]:
    """Return the resource of every route."""
    return {
        "/subscriptions": SubscriptionsResource(service, settings),
        "/subscriptions/{guid}": SubscriptionResource(service, settings),
        "/deletions/{deletion_id}": DeletionResource(service),
        "/livez": LiveResource(),
        "/readyz": ReadyResource(service),
        "/openapi.json": OpenApiResource(),
        "/docs": DocsResource(),
        "/docs/{name}": DocsFileResource(),
    }


def create_app(service: Service, settings: Settings) -> App:
    """Return the application that serves `service` over HTTP."""
    app: App = falcon.asgi.App(middleware=_middleware(service, settings))
    app.req_options.keep_blank_qs_values = True
    app.req_options.auto_parse_qs_csv = False
    # Falcon has handlers of its own for its errors; both kinds are ours to answer.
    for kind in (Exception, falcon.HTTPError):
        app.add_error_handler(kind, problems.handle)
    for prefix in PREFIXES:
        for path, resource in routes(service, settings).items():
            app.add_route(prefix + path, resource)
    return app


def _middleware(service: Service, settings: Settings) -> list[Any]:
    around: list[Any] = [Logged(settings), Authenticated(service, settings)]
    if settings.cors_origins:
        exposed = ["ETag", "Retry-After", "X-Request-Id"]
        origins = "*" if "*" in settings.cors_origins else settings.cors_origins
        around.append(falcon.CORSMiddleware(origins, expose_headers=exposed))
    return around
