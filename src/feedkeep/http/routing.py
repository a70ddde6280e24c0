"""Resources, routes and the router."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.json_bodies import read_object
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.http.responses import Refusal
from feedkeep.model import Admitted
from feedkeep.model.errors import FeedkeepError, Forbidden, InvalidInput
from feedkeep.runtime.cooperative import LONG_BYTES, in_thread_if, owner
from feedkeep.service import Service

R = TypeVar("R", bound=Request)

MAX_PARAMETER_CHARACTERS = 200
"""Maximum length of a path parameter; the longest valid one has 64 characters."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

READING = frozenset({"GET", "HEAD"})
"""Methods that change no account data."""

Handler: TypeAlias = Callable[[R], Awaitable[Response]]
"""Handler of one method of a route."""


class NoSuchRoute(FeedkeepError):
    """No route matches the request's path."""


class NoSuchMethod(FeedkeepError):
    """The route does not support the request's method."""


class AnyRoute(Generic[R]):
    """A path with parameters, such as /subscriptions/{guid}, and a handler for each method.

    A parameter matches any text without a slash, unless it has a pattern: {format:json|txt}. HEAD
    is supported wherever GET is (C1.13).

    Attributes:
        allow: Value of the Allow header.
        changes_nothing: Whether no method changes account data, so a read-only credential suffices.
        is_polled: Whether load balancers poll it each second; only its failures are logged.
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
        try:
            return self.methods[method]
        except KeyError:
            raise NoSuchMethod from None


class Route(AnyRoute[AdmittedRequest]):
    """A route for authenticated clients; its handlers receive an `AdmittedRequest`."""


class PublicRoute(AnyRoute[Request]):
    """A route without authentication."""


class Show(Protocol):
    """Renders an edge's errors where they are not JSON."""

    def __call__(self, error: Exception, request: Request, refusal: Refusal) -> Response:
        """Return the error response."""


class Authenticator(Protocol):
    """Authenticates the clients of a protocol."""

    async def admit(self, request: Request) -> Admitted:
        """Authenticate a request, and set its `credential_kind`.

        Raises:
            NotAuthorized: The request has no valid credential.
            Forbidden: The path belongs to another account.
            TooManyAttempts: Too many wrong passwords were sent.
        """


@dataclass(frozen=True, slots=True)
class Edge:
    """The routes of one protocol.

    Attributes:
        routes: If a path matches two routes, the first wins.
        show: Error renderer; None means JSON.
        is_for_own_pages: Whether only this service's own pages may send forms to it.
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
    """

    path: str
    route: Route | PublicRoute
    edge: Edge

    async def answer(self, request: Request) -> Response:
        """Check the credential first (C2.14), then method, permission and path, and respond.

        Also raises the errors of the authenticator and the handler, and `NoSuchMethod`.

        Raises:
            Forbidden: A read-only credential was used for a change (C2.10).
            InvalidInput: See `check_parameters`.
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
    """Finds the route of a request; if a path matches two routes, the first wins."""

    def __init__(self, edges: Iterable[Edge]) -> None:
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
            NoSuchRoute: No route matches the path.
        """
        request.parameters = {}
        if target := self._exact.get(request.path):
            return target
        first = _first_segment(request.path)
        has_dot = "." in request.path  # few paths have a dot; the others skip two of three patterns
        for pattern, has_ending, target in self._patterns.get(first) or self._patterns.get("", []):
            if has_ending and not has_dot:
                continue
            if match := pattern.fullmatch(request.path):
                request.parameters = match.groupdict()
                return target
        raise NoSuchRoute


def check_parameters(parameters: Mapping[str, str]) -> None:
    """Check path parameters before they reach a store (C1.8).

    PostgreSQL cannot store U+0000 or index long texts.

    Raises:
        InvalidInput: A parameter is too long or has a control character.
    """
    for text in parameters.values():
        if len(text) > MAX_PARAMETER_CHARACTERS or _CONTROL.search(text):
            raise InvalidInput(
                "A part of the address is too long, or has a character that cannot be shown."
            )


def targets(edges: Iterable[Edge]) -> Iterator[Target]:
    for edge in edges:
        for prefix in edge.prefixes:
            for route in edge.routes:
                yield Target(prefix + route.path, route, edge)


def _first_segment(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else ""


def _pattern(path: str) -> re.Pattern[str]:
    parts = _NAME.split(path)  # text, name, pattern, text, name, pattern, ...
    pattern = re.escape(parts[0])
    for name, stands_for, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pattern += f"(?P<{name}>{stands_for or '[^/]+'}){re.escape(text)}"
    return re.compile(pattern)


_NAME = re.compile(r"{(\w+)(?::((?:[^{}]|{[0-9]+})+))?}")


class Resource:
    """Handles the requests of a route."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self.service = service
        self.public_url = settings.public_url.rstrip("/")
        self._max_body_bytes = settings.max_body_bytes
        self.max_items = settings.max_items

    def base_url(self, request: Request) -> str:
        """Return the scheme and host for links to pages."""
        return self.public_url or request.base_url

    async def body(self, request: Request) -> bytes:
        """Return the request's body; raises as `Request.body` does."""
        return await request.body(self._max_body_bytes)

    async def json_object(self, request: Request, *, may_be_empty: bool = False) -> dict[str, Any]:
        """Return the JSON object in a body; raises as `body` and `read_object` do."""
        body = await self.body(request)
        if may_be_empty and not body.strip():
            return {}
        return await in_thread_if(len(body) > LONG_BYTES, read_object, body)

    def check_count(self, count: int) -> None:
        """Check the number of items in a request (C1.10).

        Raises:
            InvalidInput: There are more than `max_items`.
        """
        if count > self.max_items:
            raise InvalidInput(f"At most {self.max_items:,} items fit in one request.")


def done() -> Response:
    """Return an empty response; mygpoclient takes any content for a failure."""
    return Response(headers={"Content-Type": "text/plain"})
