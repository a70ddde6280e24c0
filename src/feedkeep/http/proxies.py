"""Addresses of clients, trusted proxies, and a hint about untrusted ones."""

from __future__ import annotations

import ipaddress
import math
import re
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from ipaddress import ip_address

from feedkeep.config.networks import network

_WITH_PORT = re.compile(r"\[([^\]]+)\](?::[0-9]*)?|([0-9]+(?:\.[0-9]+){3}):[0-9]*")


def plain_address(text: str) -> str:
    """Return an address without its port; IPv4-mapped IPv6 addresses as IPv4 (C2.16).

    Dual-stack sockets report `::ffff:192.0.2.1`, and some proxies append the port (RFC 7239,
    section 6). Other texts are returned unchanged.
    """
    if ":" not in text:
        return text
    match = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address((match[1] or match[2]) if match else text)
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)


MAX_HOPS = 32
"""Maximum number of addresses read from the end of X-Forwarded-For; clients may send thousands."""

SECONDS_BETWEEN_HINTS = 3_600.0

_REMEMBERED = 1_024


class Proxies:
    """The proxies whose X-Forwarded-For and -Proto are trusted.

    Args:
        networks: Trusted networks and addresses.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self, networks: Iterable[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._networks = [network(one) for one in networks]
        self._clock = clock
        self._silent_until_seconds = -math.inf
        self.trusts = lru_cache(_REMEMBERED)(self._trusts) if self._networks else lambda _: False

    def client_behind(self, peer: str, forwarded_for: str) -> str:
        """Return the address of the last hop that is not a trusted proxy.

        The client may have invented the addresses before it.
        """
        address, hops = peer, forwarded_for.rsplit(",", MAX_HOPS)[-MAX_HOPS:]
        while self.trusts(address) and hops:
            address = plain_address(hops.pop().strip()) or address
        return address

    def may_hint(self) -> bool:
        """Whether to log an ignored X-Forwarded-For; true once an hour."""
        now_seconds = self._clock()
        if now_seconds < self._silent_until_seconds:
            return False
        self._silent_until_seconds = now_seconds + SECONDS_BETWEEN_HINTS
        return True

    def _trusts(self, address: str) -> bool:
        try:
            read = ip_address(address)
        except ValueError:
            return False
        return any(read in one for one in self._networks)
