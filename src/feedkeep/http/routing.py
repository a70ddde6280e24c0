"""The table of routes, and finding in it what answers a request."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from starlette.responses import Response

from feedkeep.errors import FeedkeepError
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.model import Admitted

R = TypeVar("R", bound=Request)

Handler: TypeAlias = Callable[[R], Awaitable[Response]]
"""What answers the requests of one method at one route."""


class NoSuchRoute(FeedkeepError):
    """Nothing is at the path of a request."""


class NoSuchMethod(FeedkeepError):
    """A route does not have the method of a request."""


class AnyRoute(Generic[R]):
    """A path with names, such as /subscriptions/{guid}, and a handler for each method it has.

    A name can say what it stands for, as in {format:json|txt}; else it is all up to a slash. HEAD
    is answered wherever GET is.

    Attributes:
        path: The path.
        methods: The handler of each method.
        allow: The methods as the Allow header lists them.
    """

    def __init__(
        self,
        path: str,
        *,
        get: Handler[R] | None = None,
        post: Handler[R] | None = None,
        put: Handler[R] | None = None,
        patch: Handler[R] | None = None,
        delete: Handler[R] | None = None,
    ) -> None:
        named = {
            "GET": get,
            "HEAD": get,
            "POST": post,
            "PUT": put,
            "PATCH": patch,
            "DELETE": delete,
        }
        self.path = path
        self.methods: dict[str, Handler[R]] = {
            method: handler for method, handler in named.items() if handler is not None
        }
        self.allow = ", ".join(self.methods)

    def handler(self, method: str) -> Handler[R]:
        """Return what answers a method.

        Raises:
            NoSuchMethod: The route does not have it.
        """
        try:
            return self.methods[method]
        except KeyError:
            raise NoSuchMethod from None


class Route(AnyRoute[AdmittedRequest]):
    """A route for those who were let in; its handlers are given who that is."""


class PublicRoute(AnyRoute[Request]):
    """A route that answers whoever asks; its handlers know nobody."""


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
        routes: What there is; of two routes that a path matches, the first one counts.
        door: How those who ask for what is not public show who they are.
        invalid_status: What an input that is not valid is answered with.
        prefixes: What each route's path is served under.
    """

    routes: Sequence[Route | PublicRoute]
    door: Door
    invalid_status: int
    prefixes: Sequence[str] = ("",)


@dataclass(frozen=True, slots=True)
class Target:
    """What a request leads to.

    Attributes:
        path: The route's path, with its prefix.
        route: The route.
        edge: What it is a part of.
    """

    path: str
    route: Route | PublicRoute
    edge: Edge

    async def answer(self, request: Request) -> Response:
        """Find out who asks, and only then look at the method (contract, section 2).

        Raises whatever the door or the handler does, and `NoSuchMethod`.
        """
        if isinstance(self.route, PublicRoute):
            return await self.route.handler(request.method)(request)
        admitted = await self.edge.door.admit(request)
        admitted_request = AdmittedRequest(request, admitted)
        request.asker = admitted
        return await self.route.handler(request.method)(admitted_request)


class Router:
    """The routes of all edges, compiled."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        """Take edges; of two routes that a path matches, the first one counts."""
        self._exact: dict[str, Target] = {}
        self._patterns: dict[str, list[tuple[re.Pattern[str], bool, Target]]] = {}
        for target in targets(edges):
            path = target.path
            if "{" not in path:
                self._exact[path] = target
            else:
                first = _first_segment(path)
                several = self._patterns.setdefault("" if "{" in first else first, [])
                several.append((_pattern(path), "}." in path, target))

    def find(self, request: Request) -> Target:
        """Return what a request leads to, and give the request what stands in its path.

        Raises:
            NoSuchRoute: Nothing is there.
        """
        request.parameters = {}
        if request.path.startswith("//"):  # of Cardo, given an address with a slash at its end
            request.path = "/" + request.path.lstrip("/")
        if target := self._exact.get(request.path):
            return target
        first = _first_segment(request.path)
        has_dot = "." in request.path  # few paths have: it spares them two patterns of three
        for pattern, has_ending, target in self._patterns.get(first) or self._patterns.get("", []):
            if has_ending and not has_dot:
                continue
            if match := pattern.fullmatch(request.path):
                request.parameters = match.groupdict()
                return target
        raise NoSuchRoute


def targets(edges: Iterable[Edge]) -> Iterator[Target]:
    """Yield what there is at each path."""
    for edge in edges:
        for prefix in edge.prefixes:
            for route in edge.routes:
                yield Target(prefix + route.path, route, edge)


def _first_segment(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else ""


def _pattern(path: str) -> re.Pattern[str]:
    parts = _NAME.split(path)  # text, then a name and what it stands for, and so on
    pattern = re.escape(parts[0])
    for name, stands_for, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pattern += f"(?P<{name}>{stands_for or '[^/]+'}){re.escape(text)}"
    return re.compile(pattern)


_NAME = re.compile(r"{(\w+)(?::((?:[^{}]|{[0-9]+})+))?}")
