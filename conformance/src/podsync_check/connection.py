"""Send requests to the tested server, within limits, and record the exchanges."""

from __future__ import annotations

import base64
import http.client
import re
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
from podsync_check.messages import Call, CannotRun, NoAnswer, Reply, Request, T, Wrong

MAX_REPLY_BYTES = 64 * 1024 * 1024
_MAX_BODY_BYTES_KEPT = 20_000
_NOT_LET_IN = 401
_USUAL_PORTS = {"http": 80, "https": 443}


class Spent(Exception):
    """The request or time limit of the run is used up."""


@dataclass(frozen=True)
class Address:
    """Address of a server.

    Attributes:
        folder: Prefix of all paths; "" at the root.
    """

    scheme: str
    host: str
    port: int
    folder: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _USUAL_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.folder}"


def read_address(text: str) -> Address:
    """Parse an address as typed by a person; the default scheme is https.

    Raises:
        CannotRun: The text is not the address of a web server.
    """
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        port = parts.port
    except ValueError as error:
        raise CannotRun(f"{text!r} is not an address: {error}.") from None
    if parts.scheme not in _USUAL_PORTS or not parts.hostname:
        raise CannotRun(f"{text!r} is not a server's address, such as https://sync.example.org.")
    if parts.username is not None:
        raise CannotRun("Give the name with --user, not within the address.")
    port = port or _USUAL_PORTS[parts.scheme]
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


@dataclass(frozen=True)
class Credential:
    """Name and password, or a token if `name` is empty."""

    name: str
    secret: str

    @property
    def header(self) -> str:
        """Value of the `Authorization` header."""
        if not self.name:
            return f"Bearer {self.secret}"
        pair = f"{self.name}:{self.secret}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"

    @property
    def curl(self) -> str:
        """curl's option for the credential, without the secret."""
        return '-u "$LOGIN"' if self.name else '-H "Authorization: Bearer $TOKEN"'


@dataclass(frozen=True)
class Exchange:
    """A request as sent, and its reply; None if none came.

    Attributes:
        session: Session that sent it.
        shown_as: curl's options for the credential and the name of the app.
        log_in: curl's options for the login of the session; "" if no cookie was sent.
        at_seconds: Time of the request, by the connection's clock.
        seconds: Time until the reply.
    """

    session: Session
    request: Request
    shown_as: str
    log_in: str
    reply: Reply | None
    at_seconds: float
    seconds: float


@dataclass
class Limits:
    """Limits on the cost of a run for the server.

    Attributes:
        requests: Number of requests left.
        ends_at_seconds: End of the run, by the monotonic clock.
        timeout_seconds: Timeout of one reply.
    """

    requests: int
    ends_at_seconds: float
    timeout_seconds: float = 30.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        """Count a request; raises `Spent` if the request or time limit is used up."""
        with self._lock:
            if self.requests <= 0 or time.monotonic() > self.ends_at_seconds:
                raise Spent
            self.requests -= 1


@dataclass
class Connection:
    """Connection to one server; redirects are not followed.

    Attributes:
        exchanges: All exchanges so far.
        clock: Wall clock in seconds.
        sleep: Waits for some seconds.
    """

    address: Address
    limits: Limits
    exchanges: list[Exchange] = field(default_factory=list)
    verifies: bool = True
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def send(
        self,
        session: Session,
        request: Request,
        headers: Mapping[str, str],
        shown_as: str,
        log_in: str,
    ) -> Reply:
        """Send a request of a session, and record it with its reply.

        Raises:
            NoAnswer: No complete reply came in time.
            Spent: The request or time limit is used up.
        """
        self.limits.take()
        began, at_seconds = time.monotonic(), self.clock()
        reply = None
        try:
            reply = self.exchange(request, {**request.headers, **headers})
        except (OSError, http.client.HTTPException) as error:
            what = str(error) or type(error).__name__
            cause = f"{_in_general(request)} gets no reply"
            raise NoAnswer(f"{request} got no reply: {what}.", cause=cause) from None
        finally:
            seconds = time.monotonic() - began
            self.exchanges.append(
                Exchange(session, request, shown_as, log_in, _cut(reply), at_seconds, seconds)
            )
        return reply

    def exchange(self, request: Request, headers: Mapping[str, str]) -> Reply:
        """Send a request over the network; raises as `http.client`."""
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
            names = {name.lower() for name in response.headers}
            joined = {
                name: ("\n" if name == "set-cookie" else ", ").join(
                    response.headers.get_all(name, [])
                )
                for name in names
            }
            return Reply(response.status, joined, body)
        finally:
            wire.close()


def _cut(reply: Reply | None) -> Reply | None:
    """Cut a reply to the part that reports show."""
    if reply is None or len(reply.body) <= _MAX_BODY_BYTES_KEPT:
        return reply
    return Reply(reply.status, reply.headers, reply.body[:_MAX_BODY_BYTES_KEPT])


def _trusting() -> ssl.SSLContext:
    """Return a context that accepts any certificate, for servers with a private one."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Session:
    """Sends requests like one app: with a credential, with the cookie of a login, or anonymously.

    Attributes:
        credential: Credential of each request; None for a stranger.
        login: Request that starts a session; None for apps that send their credential each time.
            AntennaPod starts one, then sends only the cookie.
        agent: User-Agent of the app, before the suite's own.
        jar: Name of the file in which curl would keep the session.
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
        self.jar = "cookies.txt"
        self.credential = credential
        self.login = login
        self.cookies: dict[str, str] = {}

    def send(self, request: Request) -> Reply:
        """Send a request like `Connection.send`; log in first without a session, or if it ended."""
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
        headers, shown, log_in = dict[str, str](), list[str](), list[str]()
        if self.agent:
            headers["User-Agent"] = f"{self.agent} podsync-check/{__version__}"
            shown = log_in = [f"-A {self.agent}"]
        if shows_credential and self.credential and "Authorization" not in request.headers:
            headers["Authorization"] = self.credential.header
            shown = [*shown, self.credential.curl]
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={text}" for name, text in self.cookies.items())
            shown, log_in = [*shown, f"-b {self.jar}"], [*log_in, f"-c {self.jar}"]
        made_by = " ".join(log_in) if self.cookies else ""
        reply = self.connection.send(self, request, headers, " ".join(shown), made_by)
        for line in reply.headers.get("set-cookie", "").splitlines():
            try:
                self.cookies |= {name: one.value for name, one in SimpleCookie(line).items()}
            except CookieError:
                continue
        return reply

    def ask(self, call: Call[T]) -> T:
        """Send a request of a protocol, and return its decoded reply.

        Raises:
            Wrong: Apps could not use the reply; the text begins with the request.
        """
        reply = self.send(call.request)
        try:
            return call.read(reply)
        except Wrong as wrong:
            cause = f"{_in_general(call.request)}: {str(wrong).partition(':')[0]}"
            raise Wrong(f"{call.request}: {wrong}", cause=cause) from None


def _in_general(request: Request) -> str:
    """Return the method and path of a request, without devices, guids and queries."""
    path = re.sub(r"podsync-check-[\w-]+|[0-9a-f]{8}(-[0-9a-f]{4,12}){4}", "…", request.target)
    return f"{request.method} {path.partition('?')[0]}"


def secret_in(path: Path | None) -> str:
    """Return the first line of a file or of standard input.

    Raises:
        CannotRun: The file cannot be read, or the line is empty.
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
