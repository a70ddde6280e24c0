"""What is sent to a server, what comes back, and how that is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_MAX_SHOWN_CHARACTERS = 200


class Wrong(Exception):
    """What a server did is not what it should have done; the text says both."""


class NoAnswer(Wrong):
    """A server cut the connection, or was silent for too long."""


@dataclass(frozen=True)
class Request:
    """A request, without credentials: those are the session's.

    Attributes:
        target: The path below the server's address, with its query.
    """

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


@dataclass(frozen=True)
class Reply:
    """A reply; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body, whatever bytes are in it."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the JSON of the body.

        Raises:
            Wrong: It has none.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Wrong(f"The body is no JSON: {shortened(self.text)!r}.") from None


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request of a protocol, and how its reply is read.

    Attributes:
        read: Takes the reply; raises `Wrong` if apps could not use it.
    """

    request: Request
    read: Callable[[Reply], T]


def shortened(text: str) -> str:
    """Return the beginning of a text that may be long."""
    if len(text) <= _MAX_SHOWN_CHARACTERS:
        return text
    return text[:_MAX_SHOWN_CHARACTERS] + " ..."


def expect_status(reply: Reply, *expected: int) -> None:
    """Refuse a reply with another status.

    Raises:
        Wrong: The status is none of `expected`.
    """
    if reply.status not in expected:
        wanted = " or ".join(map(str, expected))
        said = f": {shortened(reply.text)}" if reply.body.strip() else ""
        raise Wrong(f"The status is {reply.status} and not {wanted}{said}")


def json_request(method: str, target: str, body: Any) -> Request:
    """Return a request with a JSON body."""
    headers = {"Content-Type": "application/json"}
    return Request(method, target, json.dumps(body).encode(), headers)
