"""Sends requests to the one server that was named, within bounds, and keeps what was said."""

from __future__ import annotations

import base64
import http.client
import ssl
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

from podsync_check import __version__
from podsync_check.messages import Call, NoAnswer, Reply, Request, T, Wrong

MAX_REPLY_BYTES = 64 * 1024 * 1024
SHOWS_COOKIE = "-b cookies.txt"
"""The option of curl for the cookie of a session."""

_MAX_BODY_BYTES_KEPT = 20_000
_NOT_LET_IN = 401


class CannotRun(Exception):
    """The suite cannot run; the text says what to do."""


class Spent(Exception):
    """The requests or the seconds that the suite may take are used up."""


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Attributes:
        folder: What its paths begin with; "" at the root.
    """

    scheme: str
    host: str
    port: int
    folder: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_usual = (
            self.port == http.client.HTTP_PORT
            if self.scheme == "http"
            else (self.port == http.client.HTTPS_PORT)
        )
        return f"{self.scheme}://{host}{'' if is_usual else f':{self.port}'}{self.folder}"


def read_address(text: str) -> Address:
    """Return the address that a person typed; https where no scheme is given.

    Raises:
        CannotRun: It is no address of a web server.
    """
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        port = parts.port
    except ValueError as error:
        raise CannotRun(f"{text!r} is no address: {error}.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CannotRun(f"{text!r} is no address of a server, as https://sync.example.org is.")
    if parts.username is not None:
        raise CannotRun("Give the name with --user, not within the address.")
    usual = http.client.HTTPS_PORT if parts.scheme == "https" else http.client.HTTP_PORT
    return Address(parts.scheme, parts.hostname, port or usual, parts.path.rstrip("/"))


@dataclass(frozen=True)
class Credential:
    """What a session shows: a name and a password, or a token if `name` is empty."""

    name: str
    secret: str

    @property
    def header(self) -> str:
        """The value of `Authorization`."""
        if not self.name:
            return f"Bearer {self.secret}"
        pair = f"{self.name}:{self.secret}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"

    @property
    def curl(self) -> str:
        """The option of curl that shows it, without the secret."""
        return '-u "$LOGIN"' if self.name else '-H "Authorization: Bearer $TOKEN"'


@dataclass(frozen=True)
class Exchange:
    """A request as it was sent, and its reply; None if none came.

    Attributes:
        shown_as: The options of curl for the credential that was sent.
    """

    request: Request
    shown_as: str
    reply: Reply | None
    seconds: float


@dataclass
class Limits:
    """What a run may cost the server.

    Attributes:
        requests: How many requests it may still send.
        ends_at_seconds: When it ends, by the monotonic clock.
        timeout_seconds: How long it waits for one reply.
    """

    requests: int
    ends_at_seconds: float
    timeout_seconds: float = 30.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        """Count a request.

        Raises:
            Spent: There is none left, or no time.
        """
        with self._lock:
            if self.requests <= 0 or time.monotonic() > self.ends_at_seconds:
                raise Spent
            self.requests -= 1


@dataclass
class Connection:
    """Sends to one server, and to no other: a redirect is a reply like any other.

    Attributes:
        exchanges: All that was said.
        told_from: From which exchange on a failure is told: what was tried before is left out.
        clock: Returns the seconds of the day; `sleep` lets some pass.
    """

    address: Address
    limits: Limits
    exchanges: list[Exchange] = field(default_factory=list)
    verifies: bool = True
    told_from: int = 0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def begin_again(self) -> None:
        """Leave out of what is told all that was said until now."""
        self.told_from = len(self.exchanges)

    def send(
        self, request: Request, headers: Mapping[str, str] | None = None, shown_as: str = ""
    ) -> Reply:
        """Send a request; keep it with its reply.

        Raises:
            NoAnswer: No whole reply came in time.
            Spent: The run is at its end.
        """
        self.limits.take()
        began = time.monotonic()
        reply = None
        try:
            reply = self.exchange(request, {**request.headers, **(headers or {})})
        except (OSError, http.client.HTTPException) as error:
            what = str(error) or type(error).__name__
            raise NoAnswer(f"{request} got no reply: {what}.") from None
        finally:
            seconds = time.monotonic() - began
            self.exchanges.append(Exchange(request, shown_as, _cut(reply), seconds))
        return reply

    def exchange(self, request: Request, headers: Mapping[str, str]) -> Reply:
        """Send a request over the network; raises what `http.client` does."""
        address = self.address
        timeout = self.limits.timeout_seconds
        if address.scheme == "https":
            context = ssl.create_default_context() if self.verifies else _trusting()
            wire: http.client.HTTPConnection = http.client.HTTPSConnection(
                address.host, address.port, timeout=timeout, context=context
            )
        else:
            wire = http.client.HTTPConnection(address.host, address.port, timeout=timeout)
        sent = {"User-Agent": f"podsync-check/{__version__}", "Connection": "close", **headers}
        has_body = request.body or request.method in {"POST", "PUT", "PATCH"}
        try:
            wire.request(
                request.method,
                address.folder + request.target,
                request.body if has_body else None,
                sent,
            )
            response = wire.getresponse()
            body = response.read(MAX_REPLY_BYTES)
            found = {name.lower(): value for name, value in response.getheaders()}
            cookies = response.headers.get_all("set-cookie") or []
            if cookies:
                found["set-cookie"] = "\n".join(cookies)
            return Reply(response.status, found, body)
        finally:
            wire.close()


def _cut(reply: Reply | None) -> Reply | None:
    """Keep of a reply what a report shows."""
    if reply is None or len(reply.body) <= _MAX_BODY_BYTES_KEPT:
        return reply
    return Reply(reply.status, reply.headers, reply.body[:_MAX_BODY_BYTES_KEPT])


def _trusting() -> ssl.SSLContext:
    """Return what takes any certificate, for a server of one's own that has none that is known."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Session:
    """Sends as one app does: with its credential, with the cookie of a login, or with nothing.

    Attributes:
        credential: What each request shows; None for a stranger.
        login: What begins a session; None for an app that shows its credential with each request.
            AntennaPod begins one, and then shows its cookie alone.
        agent: What the app calls itself beside the suite's own name.
    """

    def __init__(
        self,
        connection: Connection,
        credential: Credential | None = None,
        login: Request | None = None,
        agent: str = "",
    ) -> None:
        self.connection = connection
        self.agent = agent
        self.credential = credential
        self.login = login
        self.cookies: dict[str, str] = {}

    def send(self, request: Request) -> Reply:
        """Send a request; begin a session before, if there is none, or if it has ended.

        Raises:
            NoAnswer: No whole reply came in time.
            Spent: The run is at its end.
        """
        if self.login and not self.cookies:
            self._send(self.login)
        reply = self._send(request, shows_credential=not self._is_logged_in)
        if reply.status == _NOT_LET_IN and self._is_logged_in and self.login:
            self.cookies.clear()
            self._send(self.login)
            reply = self._send(request, shows_credential=not self._is_logged_in)
        return reply

    @property
    def _is_logged_in(self) -> bool:
        return self.login is not None and bool(self.cookies)

    def _send(self, request: Request, *, shows_credential: bool = True) -> Reply:
        headers, shown = dict[str, str](), list[str]()
        if self.agent:
            headers["User-Agent"] = f"{self.agent} podsync-check/{__version__}"
        if shows_credential and self.credential and "Authorization" not in request.headers:
            headers["Authorization"] = self.credential.header
            shown.append(self.credential.curl)
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={text}" for name, text in self.cookies.items())
            shown.append(SHOWS_COOKIE)
        reply = self.connection.send(request, headers, " ".join(shown))
        for line in reply.headers.get("set-cookie", "").splitlines():
            try:
                self.cookies |= {name: one.value for name, one in SimpleCookie(line).items()}
            except CookieError:
                continue
        return reply

    def ask(self, call: Call[T]) -> T:
        """Send the request of a protocol; return what its reply says.

        Raises:
            Wrong: The reply is of no use to an app; the text begins with the request.
        """
        reply = self.send(call.request)
        try:
            return call.read(reply)
        except Wrong as wrong:
            raise Wrong(f"{call.request}: {wrong}") from None


def secret_in(path: Path | None) -> str:
    """Return the first line of a file, or of standard input.

    Raises:
        CannotRun: There is none.
    """
    if path is None:
        raise CannotRun("Name the file with the password: --password-file FILE, or - to type it.")
    try:
        text = sys.stdin.readline() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRun(f"The password cannot be read: {error}.") from None
    if not (secret := text.partition("\n")[0].rstrip("\r")):
        raise CannotRun(f"{path} has no password in its first line.")
    return secret
