"""Targets of requests to other hosts: canonical URLs, and resolution of names.

Programs disagree about odd URLs: the end of the host, a percent sign in it, `127.1`. So ambiguous
URLs are refused, and others get one spelling: the checked target is the requested one.
"""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias
from urllib.parse import quote, unquote_to_bytes, urljoin

from yarl import URL

from feedkeep.outbound.failures import Exhausted, RequestRefused
from feedkeep.rules.feed_urls import DEFAULT_PORTS, MAX_CHARACTERS, MAX_PORT

_WHITE_SPACE = " \t\n\r\f\v"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)")
_AUTHORITY = re.compile(r"(?:([^@\[\]\\]*)@)?(\[[^\[\]]*\]|[^@:\[\]]*)(?::([0-9]{0,5}))?")
_MAX_NAME_CHARACTERS = 253
"""RFC 1035, section 3.1; encoding a longer name in Punycode takes quadratic time."""

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_KEPT = "%/?:@!$&'()*+,;=~[]"
"""Characters that stay unencoded after the host; a percent sign, since it starts an escape."""


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """URL in its canonical spelling.

    Attributes:
        scheme: `http` or `https`.
        host: ASCII name in lower case, or numeric address in its usual form.
        port: Port, also if it is the scheme's default.
        path: Path and query, percent-encoded.
        user_info: Percent-encoded part before the `@`; None without `@`.
    """

    scheme: str
    host: str
    port: int
    path: str
    user_info: str | None = None

    @classmethod
    def parse(cls, text: str) -> FetchTarget:
        """Parse a URL.

        Raises:
            RequestRefused: The URL is not valid or ambiguous.
        """
        url = _without_white_space(text)
        match = _URL.match(url)
        scheme = match[1].lower() if match else ""
        if match is None or scheme not in DEFAULT_PORTS:
            raise RequestRefused("Only URLs that start with https:// or http:// can be asked.")
        authority = _AUTHORITY.fullmatch(match[2])
        if authority is None:
            raise RequestRefused("The host of the URL is not valid.")
        user_info, host, port = authority.groups()
        path = match[3] if match[3].startswith("/") else f"/{match[3]}"
        return cls(
            scheme,
            _address(host[1:-1]) if host.startswith("[") else _name(host),
            _port(port) if port else DEFAULT_PORTS[scheme],
            _encoded(path),
            None if user_info is None else _encoded(user_info),
        )

    def followed(self, location: str) -> FetchTarget:
        """Return the target of a redirect; raises as `parse`."""
        text = _without_white_space(location)
        if text.startswith("//"):
            text = f"{self.scheme}:{text}"
        if (absolute := _URL.match(text)) and absolute[
            2
        ]:  # `urljoin` would normalise its host, for up to a second
            return FetchTarget.parse(text)
        return FetchTarget.parse(urljoin(self.text, text))

    @property
    def text(self) -> str:
        user_info = "" if self.user_info is None else f"{self.user_info}@"
        return f"{self.scheme}://{user_info}{self._location}{self.path}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self._location}"

    @property
    def url(self) -> URL:
        """URL without its user info, as requested."""
        return URL(self.origin + self.path, encoded=True)

    @property
    def authorization(self) -> str | None:
        """Authorization header for the user info; None without it."""
        if self.user_info is None:
            return None
        user, _, password = self.user_info.partition(":")
        pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
        return f"Basic {base64.b64encode(pair).decode()}"

    @property
    def _location(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def _without_white_space(text: str) -> str:
    url = text.strip(_WHITE_SPACE)
    if len(url) > MAX_CHARACTERS:
        raise RequestRefused("The URL is too long.")
    if _CONTROL.search(url):
        raise RequestRefused("The URL has a control character in it.")
    return url


def _address(text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise RequestRefused("The IPv6 address in the URL is not valid.") from None
    if address.scope_id is not None:
        raise RequestRefused(
            "The IPv6 address in the URL has a zone, which no other machine knows."
        )
    return str(address)


def _name(text: str) -> str:
    """Return the host in ASCII, in which its labels are checked."""
    if len(text) > _MAX_NAME_CHARACTERS:
        raise RequestRefused("The host of the URL is not valid.")
    try:
        ascii_text = text if text.isascii() else URL.build(scheme="http", host=text).raw_host or ""
    except ValueError:
        raise RequestRefused("The host of the URL is not valid.") from None
    name = ascii_text.lower().removesuffix(".")
    if _NAME.fullmatch(name) is None:
        raise RequestRefused("The host of the URL is not valid.")
    if _ENDS_IN_A_NUMBER.fullmatch(name):
        return _usual(name)
    return name


def _usual(number: str) -> str:
    # Programs read other spellings of IPv4 as a number or as a name.
    try:
        return str(IPv4Address(number))
    except ValueError:
        raise RequestRefused("The host of the URL is an address in an unusual form.") from None


def _port(digits: str) -> int:
    port = int(digits)
    if port > MAX_PORT:
        raise RequestRefused("The port of the URL is not valid.")
    return port


def _encoded(text: str) -> str:
    try:
        return quote(text, safe=_KEPT, errors="surrogateescape")
    except UnicodeEncodeError:
        raise RequestRefused("The URL has a character in it that is none.") from None


LookUp: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the numeric addresses of a name, best first; raises `socket.gaierror` without any."""


class SystemNames:
    """Resolves names in up to `at_once` threads.

    A thread that waits for a resolver cannot be stopped. A cancelled caller does not wait for it,
    nor does the end of the process, but it occupies one of the threads.
    """

    def __init__(self, at_once: int) -> None:
        self._free = asyncio.Semaphore(at_once)

    async def look_up(self, host: str) -> Sequence[str]:
        """Return the addresses of a name.

        Raises:
            socket.gaierror: The name has no address, or the lookup failed.
            Exhausted: This machine has no thread for the lookup.
        """
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        found: Future[Sequence[str]] = Future()
        found.set_running_or_notify_cancel()  # it cannot be cancelled, only abandoned

        def ask() -> None:
            try:
                found.set_result(_addresses(host))
            except OSError as error:
                found.set_exception(error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._free.release)

        try:
            threading.Thread(target=ask, daemon=True).start()
        except RuntimeError as error:  # the system has no thread
            self._free.release()
            raise Exhausted from error
        return await asyncio.wrap_future(found)


def _addresses(host: str) -> Sequence[str]:
    # `getaddrinfo` would encode text again, by other rules than the URL's.
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
