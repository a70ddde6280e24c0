"""The guarded client: the one way in which the service asks another host anything.

Subscribers choose what this machine asks, and so do the hosts that answer: by a redirect, or by
the addresses of a name. Therefore each numeric address is judged before there is a
socket, and the connection goes to that very address: nothing is looked up a second time. Nothing
of this machine's environment is used, and an answer has bounds in bytes and in time.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType, Connection

from feedkeep.model import Failure
from feedkeep.outbound.bodies import Body, BodyBroken, ResponseTooLarge
from feedkeep.outbound.failures import Exhausted, RequestRefused, Unreachable, Unusable
from feedkeep.outbound.host_locks import HostLocks
from feedkeep.outbound.names import LookUp, SystemNames
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.outbound.targets import FetchTarget
from feedkeep.rules.feed_urls import DEFAULT_PORTS

_REDIRECTS = {301, 302, 303, 307, 308}
_SUCCESS = range(200, 300)
_ENCODINGS = "gzip, deflate"
_MOST_ADDRESSES = 4
"""How many addresses of each family are tried: a name can have thousands, of other people."""

_MOST_HEADERS = 128
_LONGEST_HEADER_BYTES = 16_384
HEAD_BYTES = 4_096
"""How much of a body says whether it can be a feed."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}
_SURE = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
"""With what a resolver says that a name has no address; the rest is that it could not say."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A redirect that was followed.

    Attributes:
        status: Its status, which says whether it is meant to last.
        url: Where it leads to.
    """

    status: int
    url: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host answered. Headers that are missing, or not printable ASCII, are empty.

    Attributes:
        status: The status.
        url: The URL that answered, with its user info, in the spelling in which it was asked.
        hops: The redirects that led there, in their order.
        body: The unpacked body of a success (2xx), or of any answer if the policy says so.
        is_cut: Whether the body is longer than that.
        location: Where a redirect leads to that was not followed, as it was sent.
        set_cookies: All headers of that name.
    """

    status: int
    url: str
    body: bytes = b""
    is_cut: bool = False
    hops: tuple[Hop, ...] = ()
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    retry_after: str = ""
    location: str = ""
    set_cookies: tuple[str, ...] = ()

    @property
    def is_redirect(self) -> bool:
        """Whether it leads to another URL."""
        return self.status in _REDIRECTS and bool(self.location)


@dataclass(slots=True)
class Meter:
    """Counts the bytes of bodies as they come from the network, also of those that fail."""

    received_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Reading:
    """How far the body of an answer is read.

    Attributes:
        max_bytes: Maximum size of the body.
        may_cut: Whether a larger body is cut, and not refused.
        is_feed: Whether a body can be a feed, by its first `HEAD_BYTES` and its Content-Type; None
            to read every body.
        meter: Counts what is received.
    """

    max_bytes: int
    may_cut: bool = False
    is_feed: Callable[[bytes, str], bool] | None = None
    meter: Meter = field(default_factory=Meter)


class GuardedClient:
    """Asks other hosts, within a policy. It is open from entering to leaving.

    Many questions may be asked at the same time, of each host one: others wait for it, and what
    waits is part of the time that everything may take.
    """

    def __init__(self, policy: ClientPolicy, look_up: LookUp | None = None) -> None:
        """Ask within `policy`; names are looked up as the machine does, or by `look_up`."""
        self._policy = policy
        self._look_up = look_up
        self._host_locks = HostLocks()
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        policy = self._policy
        look_up = self._look_up or SystemNames(policy.look_ups).look_up
        names = _JudgedNames(policy, look_up)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=names,
                use_dns_cache=False,
                socket_factory=self._judged_socket,
                force_close=True,  # what was judged is not used again later
                limit=0,
                ssl=policy.tls or True,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,  # neither proxies nor ~/.netrc
            auto_decompress=False,  # `Body` does
            timeout=aiohttp.ClientTimeout(
                total=None, connect=policy.connect_seconds, sock_read=policy.silent_seconds
            ),
            headers={"User-Agent": policy.user_agent, "Accept-Encoding": _ENCODINGS},
            skip_auto_headers=("Content-Type",),
            response_class=_AbruptResponse,
            max_line_size=_LONGEST_HEADER_BYTES,
            max_field_size=_LONGEST_HEADER_BYTES,
            max_headers=_MOST_HEADERS,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await asyncio.sleep(0)  # what was aborted is closed in the loop's next round

    async def get(
        self,
        url: str,
        *,
        accept: str = "*/*",
        etag: str = "",
        last_modified: str = "",
        max_bytes: int | None = None,
        max_redirects: int | None = None,
        may_cut: bool = False,
        is_feed: Callable[[bytes, str], bool] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Return what is at a URL, at the end of its redirects.

        With what an earlier answer said (`etag`, `last_modified`), a host can answer 304. It is
        said to the URL itself only: what it redirects to may be another host's. Of a body that is
        too large, the beginning is returned if `may_cut`. One that is not `is_feed`, by its first
        `HEAD_BYTES` and its Content-Type, is read no further. `max_bytes` and `max_redirects` are
        those of the policy if they are not given. `meter` counts what is received.

        Raises:
            RequestError: There is no answer; it says why.
        """
        headers = {"Accept": accept, "If-None-Match": etag, "If-Modified-Since": last_modified}
        target = FetchTarget.parse(url)
        authorization = target.authorization
        if max_redirects is None:
            max_redirects = self._policy.max_redirects
        reading = _Reading(self._limit(max_bytes), may_cut, is_feed, meter or Meter())
        hops: list[Hop] = []
        async with self._in_time(target):
            while True:
                answer = await self._ask("GET", target, headers, authorization, reading)
                if not answer.is_redirect:
                    return replace(answer, hops=tuple(hops))
                if len(hops) == max_redirects:
                    raise Unusable(
                        Failure.TOO_MANY_REDIRECTS,
                        "{host} redirects once more, after all that are followed.",
                        host=target.host,
                    )
                following = target.followed(answer.location)
                authorization = _authorization_after(target, authorization, following)
                target = following
                headers = {"Accept": accept}
                hops.append(Hop(answer.status, target.text))

    async def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int | None = None,
    ) -> Answer:
        """Send one request, and return its answer; no redirect is followed.

        Raises:
            RequestError: There is no answer; it says why.
        """
        target = FetchTarget.parse(url)
        async with self._in_time(target):
            reading = _Reading(self._limit(max_bytes))
            return await self._ask(
                method, target, headers or {}, target.authorization, reading, body=body
            )

    def _limit(self, max_bytes: int | None) -> int:
        return self._policy.max_bytes if max_bytes is None else max_bytes

    async def _ask(
        self,
        method: str,
        target: FetchTarget,
        headers: Mapping[str, str],
        authorization: str | None,
        reading: _Reading,
        *,
        body: bytes | None = None,
    ) -> Answer:
        self._judge(target)
        sent = {name: value for name, value in headers.items() if _printable(value)}
        if authorization is not None:
            sent["Authorization"] = authorization
        with _failures_as(target):
            async with (
                self._host_locks.at(target.host),
                self._session.request(
                    method, target.url, headers=sent, data=body, allow_redirects=False
                ) as response,
            ):
                assert isinstance(response, _AbruptResponse)
                try:
                    return await self._received(response, target, reading)
                finally:
                    response.close()
                    response.abort()

    async def _received(
        self, response: aiohttp.ClientResponse, target: FetchTarget, reading: _Reading
    ) -> Answer:
        lengths = (len(name) + len(value) + len(": \r\n") for name, value in response.raw_headers)
        if sum(lengths) > self._policy.max_header_bytes:
            raise ResponseTooLarge
        told = response.headers
        body, is_cut = b"", False
        if response.status in _SUCCESS or self._policy.reads_failures:
            body, is_cut = await _body(response, target, reading)
        return Answer(
            response.status,
            target.text,
            body,
            is_cut,
            content_type=_printable(told.get("Content-Type", "")),
            etag=_printable(told.get("ETag", "")),
            last_modified=_printable(told.get("Last-Modified", "")),
            retry_after=_printable(told.get("Retry-After", "")),
            location=told.get("Location", ""),
            set_cookies=tuple(filter(_printable, told.getall("Set-Cookie", []))),
        )

    @asynccontextmanager
    async def _in_time(self, target: FetchTarget) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._policy.whole_seconds):
                yield
        except TimeoutError as error:
            raise _too_slow(target) from error

    def _judge(self, target: FetchTarget) -> None:
        """Refuse what is refused whatever its name may mean."""
        if target.port not in self._policy.ports:
            raise RequestRefused("Port {port} is not one that may be asked.", port=str(target.port))
        if _is_numeric(target.host) and not self._policy.addresses.admits(target.host):
            raise _not_admitted(target.host)

    def _judged_socket(self, info: AddrInfoType) -> socket.socket:
        """Make a socket for one address, which it is about to be connected to; or refuse.

        Everything was judged before, by `_judge` and `_JudgedNames`. This is the wall behind: there
        is no way to a socket but this one.
        """
        family, kind, protocol, _, address = info
        admitted = self._policy.addresses.admits(str(address[0]))
        if not admitted or address[1] not in self._policy.ports:
            raise PermissionError(errno.EACCES, "This address may not be asked.")
        return socket.socket(family, kind, protocol)


class _AbruptResponse(aiohttp.ClientResponse):
    """Ends its connection at once: a host could stay for half a minute to say goodbye by TLS."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the response."""
        self._abrupt_transport = connection.transport
        try:
            return await super().start(connection)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """End the connection; what was received stays."""
        if self._abrupt_transport is not None:
            # In Python 3.11.2, that of Debian 12, a closed transport of TLS cannot be aborted.
            with suppress(AttributeError):
                self._abrupt_transport.abort()


class _JudgedNames(AbstractResolver):
    """Finds the addresses of names for aiohttp, and leaves out those that may not be asked."""

    def __init__(self, policy: ClientPolicy, look_up: LookUp) -> None:
        self._rule = policy.addresses
        self._look_up = look_up

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - aiohttp's
    ) -> list[ResolveResult]:
        """Return the addresses of `host` that may be asked, of each family a few.

        Raises:
            RequestRefused: There are others only.
            Unreachable: There are none, or the look-up failed.
        """
        try:
            found = await self._found(host)
        except socket.gaierror as error:
            if error.errno in _SURE:
                raise _no_such_host(host) from error
            raise Unreachable(
                Failure.NAME_UNANSWERED, "The address of {host} could not be found out.", host=host
            ) from error
        if not found:
            raise _no_such_host(host)
        admitted = [address for address in found if self._rule.admits(address)]
        if not admitted:
            raise _not_admitted(host)
        by_family = (
            [address for address in admitted if (":" in address) is is_ipv6]
            for is_ipv6 in (True, False)
        )
        few = {address for addresses in by_family for address in addresses[:_MOST_ADDRESSES]}
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in admitted
            if address in few
        ]

    async def _found(self, host: str) -> Sequence[str]:
        """Look up a name; a task that is cancelled waits for that, unless it is cancelled again.

        The thread that looks up a silent name cannot be stopped. If requests left theirs behind
        when the time to connect is over, those of a few hosts would hold all threads.
        """
        asked = asyncio.ensure_future(self._look_up(host))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # After a pause of the process, both times may be over at once: that is one error.
            if task is None or task.cancelling() == 1:
                await asyncio.wait([asked])
            raise

    async def close(self) -> None:
        """Nothing is open."""


async def _body(
    response: aiohttp.ClientResponse, target: FetchTarget, reading: _Reading
) -> tuple[bytes, bool]:
    """Return the body, and whether it is longer than what is returned."""
    body = Body(response.headers.get("Content-Encoding", ""), reading.max_bytes)
    if not reading.may_cut and (response.content_length or 0) > reading.max_bytes:
        raise ResponseTooLarge
    is_feed, content_type = reading.is_feed, response.headers.get("Content-Type", "")
    try:
        async for chunk in response.content.iter_any():
            reading.meter.received_bytes += len(chunk)
            body.feed(chunk)
            if is_feed and len(head := body.begun()) >= HEAD_BYTES:
                if not is_feed(head[:HEAD_BYTES], content_type):
                    raise Unusable(Failure.NOT_A_FEED, "{host} sends no feed.", host=target.host)
                is_feed = None
    except ResponseTooLarge:
        if not reading.may_cut:
            raise
        return body.begun(), True
    return body.whole(), False


def _authorization_after(
    here: FetchTarget, authorization: str | None, there: FetchTarget
) -> str | None:
    """Return what to send to the target of a redirect: user info goes to its own host only.

    Raises:
        RequestRefused: It would be sent in plain text now, or what it protected would come so.
    """
    is_downgrade = here.scheme == "https" and there.scheme == "http"
    if is_downgrade and (authorization is not None or there.user_info is not None):
        raise RequestRefused(
            "{host} redirects from https to http, which would give the password away.",
            host=here.host,
        )
    if there.user_info is not None:
        return there.authorization
    has_its_schemes_port = all(one.port == DEFAULT_PORTS[one.scheme] for one in (here, there))
    is_its_own = here.host == there.host and (here.port == there.port or has_its_schemes_port)
    return authorization if is_its_own else None


@contextmanager
def _failures_as(target: FetchTarget) -> Iterator[None]:
    """Make a `RequestError` of everything that can go wrong with a request."""
    host = target.host
    try:
        yield
    except TimeoutError as error:
        raise _too_slow(target) from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise Unreachable(
            Failure.TLS_FAULT, "The certificate of {host} is not valid.", host=host
        ) from error
    except aiohttp.ClientSSLError as error:
        raise Unreachable(
            Failure.TLS_FAULT, "{host} cannot be asked by https.", host=host
        ) from error
    except aiohttp.ClientConnectorError as error:
        if error.errno in _EXHAUSTED:
            raise Exhausted from error
        reason = os.strerror(error.errno) if error.errno else "several addresses were tried"
        raise Unreachable(
            Failure.NO_CONNECTION,
            "There is no connection to {host}: {reason}.",
            host=host,
            reason=reason.lower(),
        ) from error
    except ResponseTooLarge as error:
        raise Unusable(Failure.TOO_LARGE, "{host} sends more than is taken.", host=host) from error
    except (aiohttp.ClientError, OSError, BodyBroken) as error:
        raise Unusable(Failure.BROKEN_ANSWER, "{host} sends no valid answer.", host=host) from error


def _too_slow(target: FetchTarget) -> Unreachable:
    return Unreachable(Failure.TOO_SLOW, "{host} takes too long to answer.", host=target.host)


def _not_admitted(host: str) -> RequestRefused:
    return RequestRefused("{host} is not on the public internet, and may not be asked.", host=host)


def _no_such_host(host: str) -> Unreachable:
    return Unreachable(Failure.NO_SUCH_HOST, "There is no host {host}.", host=host)


def _is_numeric(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _printable(value: str) -> str:
    """Return what may be stored and sent again; the rest is taken for missing."""
    return value if value.isascii() and value.isprintable() else ""
