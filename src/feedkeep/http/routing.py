"""The table of routes, and finding the one that answers a request."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from starlette.responses import Response

from feedkeep.http.refusal import Refusal
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.model import Admitted
from feedkeep.model.errors import FeedkeepError, Forbidden, InvalidInput
from feedkeep.runtime.cooperative import owner

R = TypeVar("R", bound=Request)

MAX_PARAMETER_CHARACTERS = 200
"""The maximum length of what stands in a path for a name; the longest that is valid has 64."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

READING = frozenset({"GET", "HEAD"})
"""The methods that change nothing of what belongs to an account."""

Handler: TypeAlias = Callable[[R], Awaitable[Response]]
"""A function that answers the requests of one method at one route."""


class NoSuchRoute(FeedkeepError):
    """No route has the path of a request."""


class NoSuchMethod(FeedkeepError):
    """A route does not have the method of a request."""


class AnyRoute(Generic[R]):
    """A path with names, such as /subscriptions/{guid}, and a handler for each method it has.

    A name can have a pattern, as in {format:json|txt}; without one it stands for any text without a
    slash. HEAD is answered wherever GET is (C1.13).

    Attributes:
        path: The path.
        methods: The handler of each method.
        allow: The methods as the Allow header lists them.
        changes_nothing: Whether no method changes anything that belongs to the account, so that a
            credential is enough that may only read.
        is_polled: Whether balancers ask it each second, so that the log has only what is wrong.
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
        changes_nothing: bool = False,
        is_polled: bool = False,
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
        self.changes_nothing = changes_nothing
        self.is_polled = is_polled
        self.methods: dict[str, Handler[R]] = {
            method: handler for method, handler in named.items() if handler is not None
        }
        self.allow = ", ".join(self.methods)

    def handler(self, method: str) -> Handler[R]:
        """Return the handler of a method.

        Raises:
            NoSuchMethod: The route does not have it.
        """
        try:
            return self.methods[method]
        except KeyError:
            raise NoSuchMethod from None


class Route(AnyRoute[AdmittedRequest]):
    """A route for clients that were let in; its handlers are given who that is."""


class PublicRoute(AnyRoute[Request]):
    """A route that needs no credential; its handlers do not know who sent a request."""


class Show(Protocol):
    """How an edge shows an error, where that is not JSON."""

    def __call__(self, error: Exception, request: Request, refusal: Refusal) -> Response:
        """Return the response."""


class Authenticator(Protocol):
    """How a protocol finds out who sent a request."""

    async def admit(self, request: Request) -> Admitted:
        """Return who sent a request; set the request's `credential_kind`.

        Raises:
            NotAuthorized: The request has no valid credential.
            Forbidden: Its path belongs to another account.
            TooManyAttempts: Too many wrong passwords were sent.
        """


@dataclass(frozen=True, slots=True)
class Edge:
    """The routes of one protocol.

    Attributes:
        routes: The routes; if a path matches two of them, the first one counts.
        authenticator: What lets clients in at routes that are not public.
        invalid_status: The status code for input that is not valid.
        prefixes: The prefixes under which each route is served.
        show: How errors are shown, where that is not JSON.
        is_for_own_pages: Whether only this service's own pages may send forms here.
    """

    routes: Sequence[Route | PublicRoute]
    authenticator: Authenticator
    invalid_status: int
    prefixes: Sequence[str] = ("",)
    show: Show | None = None
    is_for_own_pages: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A route under one of its edge's prefixes.

    Attributes:
        path: The route's path, with the prefix.
        route: The route.
        edge: The edge that the route belongs to.
    """

    path: str
    route: Route | PublicRoute
    edge: Edge

    async def answer(self, request: Request) -> Response:
        """Check the credential (C2.14), only then the method, whether it may use that, the path.

        Raises whatever the authenticator or the handler does, and `NoSuchMethod`.

        Raises:
            Forbidden: The credential may only read, and the method may change something (C2.10).
            InvalidInput: As `check_parameters` does.
        """
        if isinstance(self.route, PublicRoute):
            public_handler = self.route.handler(request.method)
            check_parameters(request.parameters)
            return await public_handler(request)
        admitted = await self.edge.authenticator.admit(request)
        admitted_request = AdmittedRequest(request, admitted)
        request.asker = admitted
        owner.set(admitted.account.id)
        handler = self.route.handler(request.method)
        is_reading = request.method in READING or self.route.changes_nothing
        if not is_reading and admitted.is_read_only:
            raise Forbidden("This credential may only read; use one that may write, too.")
        check_parameters(request.parameters)
        return await handler(admitted_request)


class Router:
    """The routes of all edges, compiled."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        """Take the edges; if a path matches two routes, the first one counts."""
        self._exact: dict[str, Target] = {}
        self._patterns: dict[str, list[tuple[re.Pattern[str], bool, Target]]] = {}
        for target in targets(edges):
            path = target.path
            if "{" not in path:
                self._exact.setdefault(path, target)
            else:
                first = _first_segment(path)
                several = self._patterns.setdefault("" if "{" in first else first, [])
                several.append((_pattern(path), "}." in path, target))

    def find(self, request: Request) -> Target:
        """Return the target of a request, and set the request's `parameters`.

        Raises:
            NoSuchRoute: No route has its path.
        """
        request.parameters = {}
        if target := self._exact.get(request.path):
            return target
        first = _first_segment(request.path)
        has_dot = (
            "." in request.path
        )  # few paths have one: the others need not try two patterns of three
        for pattern, has_ending, target in self._patterns.get(first) or self._patterns.get("", []):
            if has_ending and not has_dot:
                continue
            if match := pattern.fullmatch(request.path):
                request.parameters = match.groupdict()
                return target
        raise NoSuchRoute


def check_parameters(parameters: Mapping[str, str]) -> None:
    """Check what stands in a path for the names of its route (C1.8), before any store is asked.

    PostgreSQL stores no U+0000, and cannot index long texts.

    Raises:
        InvalidInput: It is too long, or has a control character.
    """
    for text in parameters.values():
        if len(text) > MAX_PARAMETER_CHARACTERS or _CONTROL.search(text):
            raise InvalidInput(
                "A part of the address is too long, or has a character that cannot be shown."
            )


def targets(edges: Iterable[Edge]) -> Iterator[Target]:
    """Yield the target of each path."""
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
