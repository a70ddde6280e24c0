"""Requests, replies, and how replies are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_MAX_SHOWN_CHARACTERS = 200


class CannotRun(Exception):
    """The suite cannot run; the text says what to do."""


class Wrong(Exception):
    """The server did something wrong; the text says what, and what was expected.

    Attributes:
        cause: The fault behind it, the same for all checks that it fails; "" if only this check
            knows of it.
        exchanges: Exchanges that show it; None for all of the check.
    """

    def __init__(
        self, said: str, *, cause: str = "", exchanges: Sequence[Any] | None = None
    ) -> None:
        super().__init__(said)
        self.cause = cause
        self.exchanges = exchanges


class NoAnswer(Wrong):
    """The server closed the connection, or the reply timed out."""


@dataclass(frozen=True)
class Request:
    """A request without credentials, which the session adds.

    Attributes:
        target: Path below the server's address, with the query.
    """

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


@dataclass(frozen=True)
class Reply:
    """A reply; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """Body as text; invalid UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Decode the JSON body; raises `Wrong` if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Wrong(f"The body is not JSON: {shortened(self.text)!r}.") from None


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request of a protocol, and the reader of its reply.

    Attributes:
        read: Decodes the reply; raises `Wrong` if apps could not use it.
    """

    request: Request
    read: Callable[[Reply], T]


def shortened(text: str) -> str:
    """Return the beginning of a long text."""
    if len(text) <= _MAX_SHOWN_CHARACTERS:
        return text
    return text[:_MAX_SHOWN_CHARACTERS] + " ..."


def expect_status(reply: Reply, *expected: int) -> None:
    """Raise `Wrong` unless the reply has one of the expected statuses."""
    if reply.status not in expected:
        wanted = " or ".join(map(str, expected))
        said = f": {shortened(reply.text)}" if reply.body.strip() else ""
        raise Wrong(f"The status is {reply.status}, not {wanted}{said}")


def json_request(method: str, target: str, body: Any) -> Request:
    headers = {"Content-Type": "application/json"}
    return Request(method, target, json.dumps(body).encode(), headers)
