"""Requests: Starlette's, with data about the client."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest

from feedkeep.http.proxies import Proxies, plain_address
from feedkeep.model import Admitted, Author, CredentialKind
from feedkeep.model.errors import FeedkeepError, InvalidInput
from feedkeep.runtime.cooperative import LONG_BYTES

HOLD = "feedkeep.hold"
"""Scope key of an optional function that accounts for the memory of a response."""

DISCARD = "feedkeep.discard"
"""Scope key of an optional function that releases the memory of the received body."""

UNSENT = "feedkeep.unsent"
"""Scope key of an optional function that returns the number of bytes the client has yet to read."""

MAKE = "feedkeep.make"
"""Scope key of an optional coroutine function that waits for memory to decode the whole body.

Its argument is the account id; None without an account.
"""

_NO_PROXIES = Proxies()

_GIVEN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
"""Request id from a trusted proxy: a UUID, or the formats of HAProxy and nginx."""


class BodyTooLarge(FeedkeepError):
    """The request body exceeds the limit, which the message states."""


class UnsupportedCoding(FeedkeepError):
    """The request body has a content coding; the message says what to send instead."""


class Request:
    """An HTTP request.

    Attributes:
        path: Percent-decoded path, without query and `base_path`.
        base_path: Path prefix of the service: "", or such as "/feedkeep".
        id: Id in log and response, from a trusted proxy or generated.
        address: Client address: the last hop that is not a trusted proxy.
        asker: Authenticated client, for the log; None before authentication.
        failure: Reason why the store failed, for the log.
        response_headers: Headers to add to any response; names in lower case.
    """

    parameters: Mapping[str, str]
    credential_kind: CredentialKind = CredentialKind.NONE
    asker: Admitted | None = None
    failure: str = ""
    _is_received = False  # the whole body
    _query: Mapping[str, str] | None = None

    def __init__(
        self, http: HTTPRequest, proxies: Proxies = _NO_PROXIES, base_path: str = ""
    ) -> None:
        self.http = http
        self.base_path = base_path
        self.method: str = http.scope["method"]
        self.path: str = own_path(http.scope["path"], base_path)
        self.id = f"{random.getrandbits(64):016x}"
        self._headers: dict[bytes, bytes] = dict(http.scope["headers"])
        if len(self._headers) < len(http.scope["headers"]):
            self._headers = _joined(http.scope["headers"])
        self.response_headers: dict[bytes, bytes] = {}
        self.address = self._peer = _peer_of(http)
        self.is_proxied = proxies.trusts(self._peer)
        if self.is_proxied:
            self.address = proxies.client_behind(self._peer, self.header("x-forwarded-for"))
            if _GIVEN_ID.fullmatch(given := self.header("x-request-id")):
                self.id = given

    def header(self, name: str) -> str:
        """Return a header by its lower-case name; "" if missing.

        Repeated headers are joined by commas (RFC 9110, section 5.3).
        """
        value = self._headers.get(name.encode())
        return value.decode("latin-1") if value else ""

    def cookie(self, name: str) -> str:
        """Return a cookie; "" if missing.

        The first of several counts: it has the longest path (RFC 6265, section 5.4), which excludes
        cookies of other services on the host.

        Nothing is unescaped: our cookies need no escapes, and Python's decoder blocks the event
        loop for half a second on 16 KB of backslashes.
        """
        pairs = (part.partition("=") for part in self.header("cookie").split(";"))
        values = [value.strip().strip('"') for found, _, value in pairs if found.strip() == name]
        return values[0] if values else ""

    @property
    def cookie_path(self) -> str:
        """Path of cookies for apps: `base_path` if the request came under it, else "/".

        `base_path` hides them from other services on the host. Home networks often reach the
        service without it; a trusted proxy may have removed it.
        """
        path = f"/{self.http.scope['path'].lstrip('/')}/"
        is_under = self.is_proxied or path.startswith(f"{self.base_path}/")
        return self.base_path or "/" if is_under else "/"

    @property
    def base_url(self) -> str:
        """Scheme and host by which the client reached the service."""
        scheme = "https" if self.is_secure else "http"
        host, port = self.http.scope["server"]
        return f"{scheme}://{self.header('host') or f'{host}:{port}'}"

    @property
    def is_secure(self) -> bool:
        """Whether the client uses HTTPS, to this service or to a trusted proxy."""
        if self.is_proxied:
            return self.header("x-forwarded-proto").strip().lower() == "https"
        return bool(self.http.scope["scheme"] == "https")

    def query(self, name: str) -> str:
        """Return the last value of a query parameter; "" if missing."""
        if self._query is None:  # Starlette's multi-value parser takes three times as long
            sent = self.http.scope["query_string"].decode("latin-1")
            self._query = dict(parse_qsl(sent, keep_blank_values=True))
        return self._query.get(name, "")

    def hold(self, texts: Iterable[str]) -> None:
        """Account for texts from which a large response will be built.

        Raises:
            NoRoom: Other requests use all the memory for bodies and responses.
        """
        if hold := self.http.scope.get(HOLD):
            hold(sum(map(len, texts)))

    async def body(self, max_bytes: int) -> bytes:
        """Return the whole body.

        Raises:
            UnsupportedCoding: The body has a content coding, such as compression (C1.9).
            BodyTooLarge: The body exceeds `max_bytes` (C1.10); the rest is not read.
            InvalidInput: The connection was cut within the body.
            NoRoom: Other bodies use all the memory for decoding.
        """
        coding = self.header("content-encoding")
        if coding and coding.strip().lower() not in {"", "identity"}:
            raise UnsupportedCoding("Send the body as it is, without a Content-Encoding.")
        announced = self.header("content-length")
        count = int(announced) if announced.isdigit() else 0
        body = bytearray()
        try:
            while count <= max_bytes and not self._is_received:
                body += await self._next_chunk()
                count = len(body)
        except ClientDisconnect as error:
            raise InvalidInput("The body ended early.") from error
        if count > max_bytes:
            raise BodyTooLarge("At most {max} bytes are read.", max=max_bytes)
        if count > LONG_BYTES and (make := self.http.scope.get(MAKE)):
            await make(self.asker and self.asker.account.id)
        return bytes(body)

    async def discard_body(self, max_bytes: int) -> None:
        """Receive and drop the rest of a body, up to `max_bytes`.

        Browsers show no response before they have sent the whole form.
        """
        discard = self.http.scope.get(DISCARD)
        count = 0
        try:
            while count <= max_bytes and not self._is_received:
                count += len(await self._next_chunk())
                if discard:
                    discard()
        except ClientDisconnect:
            return

    async def wait_until_left(self) -> None:
        """Wait until the client leaves; the whole body must have been received."""
        await self.http.receive()  # after a body, ASGI has no other message than the disconnect

    async def _next_chunk(self) -> bytes:
        """Receive a chunk of the body, five times as fast as Starlette's stream.

        Raises:
            ClientDisconnect: The client has left.
        """
        message = await self.http.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        self._is_received = not message.get("more_body", False)
        chunk: bytes = message.get("body", b"")
        return chunk


class AdmittedRequest(Request):
    """An authenticated request."""

    def __init__(self, request: Request, admitted: Admitted) -> None:
        self.__dict__ = vars(request)  # the same request; copying takes longer
        self.admitted = self.asker = admitted

    def author(self, device: str = "") -> Author:
        """Return the author of a list change, with the device if the request names one."""
        admitted, token = self.admitted, self.admitted.token
        kind, number, name = admitted.credential_kind, admitted.sign_in, admitted.user_agent
        if token is not None:
            name = token.label
            if number is None:
                number = token.id
            elif token.is_session:  # a session's id changes with the app's next session
                kind = CredentialKind.TOKEN
        return Author(kind, number, name or self.header("user-agent"), device, self.id)


def own_path(path: str, base_path: str) -> str:
    """Return a path relative to the service, if a proxy left the path of public_url in it."""
    if path.startswith("//"):  # Cardo, when its server URL ends with a slash
        path = f"/{path.lstrip('/')}"
    if base_path and f"{path}/".startswith(f"{base_path}/"):
        path = f"/{path.removeprefix(base_path).lstrip('/')}"
    return path


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        # Proxies may split the cookies of HTTP/2 into several lines (RFC 9113, section 8.2.3).
        separator = b"; " if name == b"cookie" else b", "
        joined[name] = joined[name] + separator + value if name in joined else value
    return joined


def _peer_of(http: HTTPRequest) -> str:
    client = http.scope.get("client")
    return plain_address(client[0]) if client else "127.0.0.1"
