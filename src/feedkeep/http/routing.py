"""Finding what answers a request: the route of its path, and the handler of its method."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from feedkeep.http.messages import Reply, Request
from feedkeep.model import Admitted

Handler: TypeAlias = Callable[[Request], Awaitable[Reply]]
"""What answers the requests of one method at one route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """What is at a route: a handler for each method that it has, HEAD wherever GET is.

    Attributes:
        is_public: Whether it answers whoever asks.
    """

    get: Handler | None = None
    post: Handler | None = None
    put: Handler | None = None
    patch: Handler | None = None
    delete: Handler | None = None
    is_public: bool = False

    def by_name(self) -> dict[str, Handler]:
        """Return the handlers that there are, as HTTP names the methods."""
        handlers = {
            "GET": self.get,
            "HEAD": self.get,
            "POST": self.post,
            "PUT": self.put,
            "PATCH": self.patch,
            "DELETE": self.delete,
        }
        return {name: handler for name, handler in handlers.items() if handler is not None}


class Door(Protocol):
    """How those who ask show who they are."""

    async def admit(self, request: Request) -> Admitted:
        """Return who asks; leave in the request what kind of credential they showed.

        Raises:
            NotAuthorized: They show nothing that lets anybody in.
            Forbidden: They ask for what is somebody else's.
            TooManyAttempts: Too many wrong passwords came.
        """


@dataclass(frozen=True, slots=True)
class Edge:
    """The routes of one protocol.

    Attributes:
        routes: What is at each template.
        door: How those who ask for what is not public show who they are.
        invalid_status: What an input that is not valid is answered with.
    """

    routes: Mapping[str, Methods]
    door: Door
    invalid_status: int


class Route:
    """A template such as /subscriptions/{guid}, and what is there.

    A name in it can say what it stands for, as in {format:json|txt}; else it is all up to a slash.

    Attributes:
        template: The template.
        edge: What it is a part of.
        is_public: Whether it answers whoever asks.
        methods: The handler of each method.
        allow: The methods as the Allow header lists them.
    """

    def __init__(self, template: str, methods: Methods, edge: Edge) -> None:
        self.template = template
        self.edge = edge
        self.is_public = methods.is_public
        self.methods = methods.by_name()
        self.allow = ", ".join(self.methods)

    async def answer(self, request: Request) -> Reply | None:
        """Answer a request; None if the route does not have its method."""
        handler = self.methods.get(request.method)
        return None if handler is None else await handler(request)


class Router:
    """All routes."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        """Take edges; of two templates that a path matches, the first one counts."""
        found = [
            Route(template, methods, edge)
            for edge in edges
            for template, methods in edge.routes.items()
        ]
        self._exact = {route.template: route for route in found if "{" not in route.template}
        self._patterns: dict[str, list[tuple[re.Pattern[str], bool, Route]]] = {}
        for route in found:
            if "{" in route.template:
                first = _first_segment(route.template)
                several = self._patterns.setdefault("" if "{" in first else first, [])
                several.append((_pattern(route.template), "}." in route.template, route))

    def find(self, request: Request) -> Route | None:
        """Return the route of a request, and give the request what stands in its path."""
        request.parameters = {}
        if request.path.startswith("//"):  # of Cardo, given an address with a slash at its end
            request.path = "/" + request.path.lstrip("/")
        if route := self._exact.get(request.path):
            return route
        first = _first_segment(request.path)
        has_dot = "." in request.path  # few paths have: it spares them two patterns of three
        for pattern, has_ending, route in self._patterns.get(first) or self._patterns.get("", []):
            if has_ending and not has_dot:
                continue
            if match := pattern.fullmatch(request.path):
                request.parameters = match.groupdict()
                return route
        return None


def _first_segment(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else ""


def _pattern(template: str) -> re.Pattern[str]:
    parts = _NAME.split(template)  # text, then a name and what it stands for, and so on
    pattern = re.escape(parts[0])
    for name, stands_for, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pattern += f"(?P<{name}>{stands_for or '[^/]+'}){re.escape(text)}"
    return re.compile(pattern)


_NAME = re.compile(r"{(\w+)(?::((?:[^{}]|{[0-9]+})+))?}")
