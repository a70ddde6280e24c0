"""Finding the resource of a path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from feedkeep.api.http import Reply, Request

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class Resource(Protocol):
    """What is at a route: it has a method `get`, `post` and so on for each that it answers."""

    is_public: bool
    """Whether it answers whoever asks."""


class Route:
    """A template such as /subscriptions/{guid}, and what is there.

    Attributes:
        template: The template.
        resource: What is there.
        methods: What it answers, HEAD wherever GET is.
        allow: The same as the Allow header lists it.
    """

    def __init__(self, template: str, resource: Resource) -> None:
        self.template = template
        self.resource = resource
        self.methods = {
            name: getattr(resource, _READ_AS.get(name, name).lower())
            for name in METHODS
            if hasattr(resource, _READ_AS.get(name, name).lower())
        }
        self.allow = ", ".join(self.methods)

    async def answer(self, request: Request) -> Reply | None:
        """Answer a request; None if the route does not have its method."""
        answer = self.methods.get(request.method)
        reply: Reply | None = None if answer is None else await answer(request)
        return reply


class Router:
    """All routes."""

    def __init__(self, routes: Mapping[str, Resource]) -> None:
        found = [Route(template, resource) for template, resource in routes.items()]
        self._exact = {route.template: route for route in found if "{" not in route.template}
        self._patterns = [
            (re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", route.template)), route)
            for route in found
            if "{" in route.template
        ]

    def find(self, request: Request) -> Route | None:
        """Return the route of a request, and give the request what stands in its path."""
        request.parameters = {}
        if route := self._exact.get(request.path):
            return route
        for pattern, route in self._patterns:
            if match := pattern.fullmatch(request.path):
                request.parameters = match.groupdict()
                return route
        return None


_READ_AS = {"HEAD": "GET"}
