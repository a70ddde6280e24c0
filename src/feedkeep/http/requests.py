"""A request as every edge sees it: Starlette's, with what the service knows about its client."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest

from feedkeep.http.addresses import plain_address
from feedkeep.http.proxies import Proxies
from feedkeep.model import Admitted, Author, CredentialKind
from feedkeep.model.errors import FeedkeepError, InvalidInput
from feedkeep.runtime.cooperative import LONG_BYTES

HOLD = "feedkeep.hold"
"""The key of a scope under which a function may be that counts the memory a request takes."""

DISCARD = "feedkeep.discard"
"""The key under which a function may be that says that the body so far is not held any more."""

UNSENT = "feedkeep.unsent"
"""The key under which a function may be that returns how many bytes the client has yet to take."""

MAKE = "feedkeep.make"
"""The key under which a coroutine function may be that waits for room to read the whole body.

It is given the account, or None of a stranger.
"""

_NO_PROXIES = Proxies()

_GIVEN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
"""What a trusted proxy may call a request by: an UUID, or what HAProxy and nginx make."""


class BodyTooLarge(FeedkeepError):
    """A request body is larger than what is read; `str()` of it says how large it may be."""


class UnsupportedCoding(FeedkeepError):
    """A request body has a content coding; `str()` of it says what to send instead."""


class Request:
    """One request.

    Attributes:
        http: The request itself, as Starlette documents it.
        method: In capital letters.
        path: The path, percent-decoded, without the query, and without `base_path`.
        base_path: The path under which clients reach this service: "", or such as "/feedkeep".
        parameters: The texts in the path for the names of the route.
        id: Its id in the log and in the response: the one that a trusted proxy gave it, or our own.
        address: The address of the client: of the last hop that is not a trusted proxy.
        is_proxied: Whether a trusted proxy sent it.
        credential_kind: What kind of credential came with it, as far as that is known.
        asker: Who sent it, for the log; None until a credential was accepted.
        failure: Why the store did not serve it, for the log.
        response_headers: Headers to add to the response, whatever it is; names are in lower case.
    """

    parameters: Mapping[str, str]
    credential_kind: CredentialKind = CredentialKind.NONE
    asker: Admitted | None = None
    failure: str = ""
    _is_received = False  # all of the body
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
        """Return a header, by its name in lower case; "" if there is none.

        If it was sent more than once, its values are joined by commas (RFC 9110, section 5.3).
        """
        value = self._headers.get(name.encode())
        return value.decode("latin-1") if value else ""

    def cookie(self, name: str) -> str:
        """Return a cookie; "" if there is none.

        Of several, the first counts: that of the longest path (RFC 6265, section 5.4), which a
        neighbour on the same host, whose cookies are for all of it, does not have.

        Ours need no escapes, and nothing is unescaped: Python's way of that takes half a second of
        the event loop for 16 KB of backslashes, which anybody can send.
        """
        pairs = (part.partition("=") for part in self.header("cookie").split(";"))
        values = [value.strip().strip('"') for found, _, value in pairs if found.strip() == name]
        return values[0] if values else ""

    @property
    def cookie_path(self) -> str:
        """Where a cookie is sent that an app gets: `base_path` if the request came under it.

        Neighbours on the same host get it then no more. From the network at home, the service is
        often reached without that path. A proxy that is trusted may have taken it off.
        """
        path = f"/{self.http.scope['path'].lstrip('/')}/"
        is_under = self.is_proxied or path.startswith(f"{self.base_path}/")
        return self.base_path or "/" if is_under else "/"

    @property
    def base_url(self) -> str:
        """How the client reached this service: scheme and host."""
        scheme = "https" if self.is_secure else "http"
        host, port = self.http.scope["server"]
        return f"{scheme}://{self.header('host') or f'{host}:{port}'}"

    @property
    def is_secure(self) -> bool:
        """Whether the client came by HTTPS, to this service or to a proxy that is trusted."""
        if self.is_proxied:
            return self.header("x-forwarded-proto").strip().lower() == "https"
        return bool(self.http.scope["scheme"] == "https")

    def query(self, name: str) -> str:
        """Return the last value of a parameter of the query; "" if there is none."""
        if self._query is None:  # Starlette's takes three times as long, for several values of one
            sent = self.http.scope["query_string"].decode("latin-1")
            self._query = dict(parse_qsl(sent, keep_blank_values=True))
        return self._query.get(name, "")

    def hold(self, texts: Iterable[str]) -> None:
        """Count texts that the response will be made of, which may be long together.

        Raises:
            NoRoom: Other requests hold all the memory that bodies and responses may take.
        """
        if hold := self.http.scope.get(HOLD):
            hold(sum(map(len, texts)))

    async def body(self, max_bytes: int) -> bytes:
        """Return the whole body.

        Raises:
            UnsupportedCoding: It is compressed or otherwise coded (C1.9).
            BodyTooLarge: It is larger than `max_bytes` (C1.10); no more than that was kept.
            InvalidInput: The connection was cut in the middle of it.
            NoRoom: Other bodies that are being read take all the memory.
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
        """Receive what is left of a body, up to a limit, and throw it away.

        A browser shows no response before it has sent a whole form.
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

    async def _next_chunk(self) -> bytes:
        """Receive a chunk of the body: by Starlette's stream, it takes five times as long.

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
    """An authenticated request.

    Attributes:
        admitted: Who that is.
    """

    def __init__(self, request: Request, admitted: Admitted) -> None:
        self.__dict__ = vars(request)  # it is the same request: to copy all took longer
        self.admitted = self.asker = admitted

    def author(self, device: str = "") -> Author:
        """Return who changes a list with this request, on a device if it names one."""
        admitted, token = self.admitted, self.admitted.token
        kind, number, name = admitted.credential_kind, admitted.sign_in, admitted.user_agent
        if token is not None:
            name = token.label
            if number is None:
                number = token.id
            elif token.is_session:  # the next session of this app has another number
                kind = CredentialKind.TOKEN
        return Author(kind, number, name or self.header("user-agent"), device, self.id)


def own_path(path: str, base_path: str) -> str:
    """Return a path from the service's own root, where a proxy has left the path of public_url."""
    if path.startswith("//"):  # Cardo, if its address has a slash at the end
        path = f"/{path.lstrip('/')}"
    if base_path and f"{path}/".startswith(f"{base_path}/"):
        path = f"/{path.removeprefix(base_path).lstrip('/')}"
    return path


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        # A proxy may pass on the cookies of HTTP/2 as several lines (RFC 9113, section 8.2.3).
        separator = b"; " if name == b"cookie" else b", "
        joined[name] = joined[name] + separator + value if name in joined else value
    return joined


def _peer_of(http: HTTPRequest) -> str:
    """Return the address at the other end of the connection."""
    client = http.scope.get("client")
    return plain_address(client[0]) if client else "127.0.0.1"
