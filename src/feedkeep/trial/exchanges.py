"""A request that an app sent, and what it got."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

from feedkeep.trial.faults import Fault

MAX_READ_BYTES = 16 * 1024 * 1024
"""How much of a body is read. A page of a thousand long URLs has half of that."""

_MAX_SHOWN_BYTES = 4_000
_GZIP = 31


@dataclass
class Exchange:
    """A request and its reply.

    Attributes:
        number: Which one it is, from 1.
        at_seconds: When it came, by a clock that only goes on.
        method: Its method.
        path: Its path, without `/v1`.
        query: Its query.
        headers: Its headers, by their names in lower case.
        body: Its body; only the beginning, once it was read.
        fault: What was made to go wrong; None if nothing was.
        status: The status of the reply; None if it was lost.
        reply_headers: The headers of the reply.
        reply: The body of the reply, as `body`.
        objections: What a strict reader of the contract has against the request.
    """

    number: int
    at_seconds: float
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytearray = field(default_factory=bytearray)
    fault: Fault | None = None
    status: int | None = None
    reply_headers: Mapping[str, str] = field(default_factory=dict)
    reply: bytearray = field(default_factory=bytearray)
    objections: list[str] = field(default_factory=list)

    @property
    def target(self) -> str:
        """The path and the query, as the request had them."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def client(self) -> str:
        """What tells clients apart: what they call themselves, and their credential."""
        return f"{self.headers.get('user-agent', '')} {self.headers.get('authorization', '')}"

    @cached_property
    def asked(self) -> Mapping[str, str]:
        """The parameters of the query."""
        parsed = parse_qs(self.query, keep_blank_values=True)
        return {name: values[-1] for name, values in parsed.items()}

    @cached_property
    def sent(self) -> Any:
        """The JSON of the request; None if it has none."""
        return _json(bytes(self.body))

    @cached_property
    def got(self) -> Any:
        """The JSON of the reply, as if it had arrived; None if it has none."""
        is_coded = self.reply_headers.get("content-encoding") == "gzip"
        return _json(_expanded(self.reply) if is_coded else bytes(self.reply))

    def shorten(self) -> None:
        """Keep of the bodies what is shown."""
        if self.reply_headers.get("content-encoding") == "gzip":
            self.reply = bytearray(_expanded(self.reply))
        for body in (self.body, self.reply):
            if len(body) > _MAX_SHOWN_BYTES:
                body[_MAX_SHOWN_BYTES:] = b" ..."


def _expanded(body: bytearray) -> bytes:
    return zlib.decompressobj(_GZIP).decompress(body)  # as much as there is of it


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
