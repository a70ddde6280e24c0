"""Guarded client: the only way in which the service sends requests to other hosts.

Subscribers choose the targets, and so do the hosts that reply, by redirects and DNS records. So
each numeric address is checked before a socket exists, and the connection goes to that address
without a second lookup. Proxies and credentials of the environment are ignored, and replies are
limited in size and time.
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
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.outbound.targets import FetchTarget, LookUp, SystemNames
from feedkeep.rules.feed_urls import DEFAULT_PORTS

_REDIRECTS = {301, 302, 303, 307, 308}
_SUCCESS = range(200, 300)
_ENCODINGS = "gzip, deflate"
_NOT_DECODED = {"br", "zstd", "compress", "x-compress"}
_MOST_ADDRESSES = 4
"""Maximum number of addresses tried per family: a name can have thousands, of other people."""

_MOST_HEADERS = 128
_LONGEST_HEADER_BYTES = 16_384
HEAD_BYTES = 4_096
"""Size of the beginning of a body by which feeds are recognised."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}
_SURE = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
"""Resolver errors that mean that the name has no address; others mean that the lookup failed."""


@dataclass(frozen=True, slots=True)
class Hop:
    """Redirect that was followed.

    Attributes:
        status: Status, which tells permanent redirects from temporary ones.
        url: Target.
    """

    status: int
    url: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Response of a host. Headers that are missing, or not printable ASCII, are empty.

    Attributes:
        url: URL that answered, with its user info, in the requested spelling.
        hops: Redirects that were followed, in order.
        body: Decompressed body of a success (2xx), or of any response if the policy says so.
        is_cut: Whether the body was cut.
        location: Target of a redirect that was not followed, as sent.
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
        return self.status in _REDIRECTS and bool(self.location)


@dataclass(slots=True)
class Meter:
    """Counter of received body bytes, including failed requests."""

    received_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Reading:
    """Limits for reading the body of a response.

    Attributes:
        max_bytes: Maximum size of the body.
        may_cut: Whether a larger body is cut instead of refused.
        is_feed: Whether a body can be a feed, by its first `HEAD_BYTES` and its Content-Type; None
            to read every body.
        meter: Counter of received bytes.
    """

    max_bytes: int
    may_cut: bool = False
    is_feed: Callable[[bytes, str], bool] | None = None
    meter: Meter = field(default_factory=Meter)


class GuardedClient:
    """HTTP client within a policy; open while its context is entered.

    Requests run concurrently, but one at a time to each host; waiting counts as part of a request's
    total time.

    Args:
        look_up: Resolver; by default the system's.
    """

    def __init__(self, policy: ClientPolicy, look_up: LookUp | None = None) -> None:
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
                force_close=True,  # an address check holds for one request
                limit=0,
                ssl=policy.tls or True,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,  # neither proxies nor ~/.netrc
            auto_decompress=False,  # `Body` decompresses
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
        await asyncio.sleep(0)  # aborted connections are closed in the loop's next round

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
        """Fetch a URL and follow its redirects.

        The validators of an earlier response (`etag`, `last_modified`) allow a 304. They are sent
        to the URL itself only: its redirects may go to another host. A body that is too large is
        refused, or cut if `may_cut`. Reading stops if the first `HEAD_BYTES` and the Content-Type
        are not `is_feed`. `max_bytes` and `max_redirects` default to the policy's; `meter` counts
        received bytes.

        Raises:
            RequestError: There is no usable response.
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
        """Send one request and return its response; redirects are not followed.

        Raises:
            RequestError: There is no usable response.
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
        if target.port not in self._policy.ports:
            raise RequestRefused("Port {port} is not one that may be asked.", port=str(target.port))
        if _is_numeric(target.host) and not self._policy.addresses.admits(target.host):
            raise _not_admitted(target.host)

    def _judged_socket(self, info: AddrInfoType) -> socket.socket:
        """Create a socket for an address, or refuse.

        `_judge` and `_JudgedNames` have checked the address before. This is the second line of
        defence: every socket is created here.
        """
        family, kind, protocol, _, address = info
        admitted = self._policy.addresses.admits(str(address[0]))
        if not admitted or address[1] not in self._policy.ports:
            raise PermissionError(errno.EACCES, "This address may not be asked.")
        return socket.socket(family, kind, protocol)


class _AbruptResponse(aiohttp.ClientResponse):
    """Response that aborts its connection: a TLS shutdown could take a host half a minute."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        self._abrupt_transport = connection.transport
        try:
            return await super().start(connection)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Abort the connection; received data stays."""
        if self._abrupt_transport is not None:
            # In Python 3.11.2 (Debian 12), a closed TLS transport cannot be aborted.
            with suppress(AttributeError):
                self._abrupt_transport.abort()


class _JudgedNames(AbstractResolver):
    """Resolver for aiohttp that returns permitted addresses only."""

    def __init__(self, policy: ClientPolicy, look_up: LookUp) -> None:
        self._rule = policy.addresses
        self._look_up = look_up

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - aiohttp's
    ) -> list[ResolveResult]:
        """Return the permitted addresses of `host`, a few per family.

        Raises:
            RequestRefused: No address is permitted.
            Unreachable: The name has no address, or the lookup failed.
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
        """Look up a name; a cancelled task waits for the lookup, unless it is cancelled again.

        The thread that looks up an unresponsive name cannot be stopped. If requests abandoned their
        threads at the connect timeout, a few hosts could occupy all of them.
        """
        asked = asyncio.ensure_future(self._look_up(host))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # After a pause of the process, both timeouts may expire at once: that is one error.
            if task is None or task.cancelling() == 1:
                await asyncio.wait([asked])
            raise

    async def close(self) -> None:
        """Do nothing: lookups end by themselves."""


async def _body(
    response: aiohttp.ClientResponse, target: FetchTarget, reading: _Reading
) -> tuple[bytes, bool]:
    """Read the body; return it and whether it was cut."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in _NOT_DECODED:
        raise Unusable(
            Failure.BROKEN_ANSWER,
            "{host} compresses its answer by {encoding}, which nobody asked for.",
            host=target.host,
            encoding=encoding,
        )
    body = Body(encoding, reading.max_bytes)
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
    """Return the header for a redirect's target: user info goes to its own host only.

    Raises:
        RequestRefused: User info would be sent in plain text, or its protected content received so.
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
    """Context manager: translate all errors of a request to `RequestError`."""
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
    # Only such values can be stored and sent again.
    return value if value.isascii() and value.isprintable() else ""
