"""A request and its reply, as every edge here sees them: what ASGI says, decoded when asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Self
from urllib.parse import parse_qsl

from feedkeep.errors import InvalidInput
from feedkeep.http.addresses import plain_address
from feedkeep.model import Admitted, CredentialKind

JSON = "application/json"

HOLD = "feedkeep.hold"
"""Where a scope may have a function that counts the bytes that a request takes from the memory."""

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI application."""


class Request:
    """One request.

    Attributes:
        method: In capital letters.
        path: The path, percent-decoded, without the query.
        parameters: What stands in the path where the route has names.
        id: What the log and the reply call it.
        address: The address of the client.
        credential_kind: What kind of credential came with it, as far as that is known.
        admitted: Who is asking, once that is known.
        reply_headers: Headers that the reply is to have, whatever it is.
        trusted_proxies: The addresses of proxies that are believed.
    """

    parameters: dict[str, str]
    id: str
    address: str
    credential_kind: CredentialKind = CredentialKind.NONE
    admitted: Admitted | None = None
    trusted_proxies: Collection[str] = ()

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.reply_headers: dict[str, str] = {}
        self._scope = scope
        self._receive = receive
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        if len(self._headers) < len(scope["headers"]):
            self._headers = _joined(scope["headers"])

    def header(self, name: bytes) -> str:
        """Return a header, by its name in small letters; "" if there is none."""
        return self._headers.get(name, b"").decode("latin-1")

    @property
    def peer(self) -> str:
        """The address at the other end of the connection."""
        client = self._scope.get("client")
        return plain_address(client[0]) if client else "127.0.0.1"

    @property
    def base_url(self) -> str:
        """How the client reached this service: scheme and host."""
        host, port = self._scope["server"]
        scheme = "https" if self.is_secure else "http"
        return f"{scheme}://{self.header(b'host') or f'{host}:{port}'}"

    @property
    def is_secure(self) -> bool:
        """Whether the client came by HTTPS, to this service or to a proxy that is trusted."""
        if self.peer in self.trusted_proxies:
            return self.header(b"x-forwarded-proto").strip().lower() == "https"
        return bool(self._scope["scheme"] == "https")

    def cookies(self) -> dict[str, str]:
        """Return the cookies by name (RFC 6265, section 5.4)."""
        pairs = (part.partition("=") for part in self.header(b"cookie").split(";"))
        return {name.strip(): value.strip().strip('"') for name, _, value in pairs}

    def hold(self, texts: Iterable[str]) -> None:
        """Count texts that the reply will be made of, which may be long together.

        Raises:
            NoRoom: Others take all the memory that there is for replies.
        """
        if hold := self._scope.get(HOLD):
            hold(sum(map(len, texts)))

    def query(self) -> dict[str, list[str]]:
        """Return the values of each parameter of the query."""
        values: dict[str, list[str]] = {}
        if text := self._scope["query_string"]:
            for name, value in parse_qsl(text.decode("latin-1"), keep_blank_values=True):
                values.setdefault(name, []).append(value)
        return values

    async def body(self, max_bytes: int) -> bytes | None:
        """Return the whole body, or None if it is larger; no more than that was kept.

        Raises:
            InvalidInput: The connection was cut in the middle of it.
        """
        announced = self._headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > max_bytes:
            return None
        body = bytearray()
        while True:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise InvalidInput("The body ended early.")
            body += event.get("body", b"")
            if len(body) > max_bytes:
                return None
            if not event.get("more_body"):
                return bytes(body)


WHOLE_BYTES = 262_144
"""How many bytes of a body that comes in pieces are waited for before the reply begins."""


class Reply:
    """What a request is answered with.

    Attributes:
        body: The bytes to send; None where a reply has no body. If `pieces` is there, the first.
        pieces: What comes after `body`, of a length that nobody knows yet; None if nothing does.
        is_head: Whether it answers HEAD: then nobody wants the pieces.
        status: The status code.
        headers: All but the length, which follows from the body.
    """

    def __init__(
        self, body: bytes | None, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.body = body
        self.pieces: AsyncGenerator[bytes, None] | None = None
        self.is_head = False
        self.status = status
        self.headers = {"Content-Type": JSON} if body is not None else {}
        if headers:
            self.headers |= headers

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the headers as ASGI has them."""
        fields = [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.body is not None and self.pieces is None:
            fields.append((b"Content-Length", b"%d" % len(self.body)))
        return fields

    @classmethod
    async def in_pieces(cls, pieces: AsyncGenerator[bytes, None]) -> Self:
        """Return a reply whose body comes in pieces; a short one is a reply like any other.

        Raises whatever the first pieces do: those that are short enough to be waited for.
        """
        first = bytearray()
        async for piece in pieces:
            first += piece
            if len(first) >= WHOLE_BYTES:
                break
        else:
            return cls(bytes(first))
        reply = cls(bytes(first))
        reply.pieces = pieces
        return reply

    async def send(self, send: Send) -> None:
        """Send it over ASGI; each piece once the client has room for it.

        Raises whatever the pieces do. Then the reply has no end, and whoever serves it cuts it.
        """
        await send({"type": "http.response.start", "status": self.status, "headers": self.fields()})
        if self.pieces is not None:
            async with aclosing(self.pieces) as pieces:
                await self._send_pieces(send, pieces)
        else:
            await send({"type": "http.response.body", "body": self.body or b""})

    async def _send_pieces(self, send: Send, pieces: AsyncGenerator[bytes, None]) -> None:
        if not self.is_head:
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _joined(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Join headers that came more than once to a list, as they may be (RFC 9110, section 5.3)."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined
