"""Permitted target addresses: the public internet and configured networks. Pure.

The lists repeat IANA's registries of special-purpose addresses: those of `ipaddress` differ between
Python versions, and treat multicast as global.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias
from urllib.parse import urlsplit

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # behind a provider's NAT; metadata of some clouds
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # the Azure host of each virtual machine, although it looks public
            "169.254.0.0/16",  # link-local; metadata of most clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments; metadata of a cloud
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "2001::/23",  # protocol assignments, with Teredo, ORCHID and benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: routed to the embedded IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
"""Networks without global unicast, in IPv4 and in `GLOBAL_UNICAST`."""

GLOBAL_UNICAST = IPv6Network("2000::/3")
"""All IPv6 ever allocated; outside it are loopback, link-local, private and multicast."""

NAT64 = IPv6Network("64:ff9b::/96")
"""Translation of IPv4 for machines without it; the last 32 bits are the IPv4 address."""

EVERYWHERE = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))
"""All addresses, for hosts that the operator has configured by name."""

_MAPPED = IPv6Network("::ffff:0:0/96")
_IPV4_BITS = 2**32 - 1


def network(text: str) -> Network:
    """Parse a network or a single address.

    Raises:
        ValueError: The text is neither; `10.0.0.1/8` is not valid, since bits follow the prefix.
    """
    found = ipaddress.ip_network(text)
    if isinstance(found, IPv6Network) and found.subnet_of(_MAPPED):
        return IPv4Network((_embedded(found.network_address), found.prefixlen - 96))
    return found


def covers_internet(texts: Iterable[str]) -> bool:
    """Whether networks cover half of IPv4, or half of all allocated IPv6 addresses."""
    networks = [network(text) for text in texts]
    ipv4 = ipaddress.collapse_addresses(one for one in networks if isinstance(one, IPv4Network))
    ipv6 = ipaddress.collapse_addresses(one for one in networks if isinstance(one, IPv6Network))
    return (
        sum(one.num_addresses for one in ipv4) >= 2**31
        or sum(one.num_addresses for one in ipv6) >= GLOBAL_UNICAST.num_addresses // 2
    )


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address or localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def leads_to_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return host is not None and is_loopback(host)


@dataclass(frozen=True, slots=True)
class AddressRule:
    """Permits and denies target addresses.

    Attributes:
        allowed: Permitted networks that are not public.
        denied: Networks that are never permitted, even if public or allowed.
    """

    allowed: tuple[Network, ...] = ()
    denied: tuple[Network, ...] = ()

    def admits(self, text: str) -> bool:
        """Whether requests to an address are permitted; False for text in an unusual form.

        IPv6 addresses that embed an IPv4 address are judged by it.
        """
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        return self._admits(address)

    def _admits(self, address: Address) -> bool:
        if isinstance(address, IPv6Address):
            if address.scope_id is not None:  # valid on one network interface only
                return False
            if address in _MAPPED:  # the kernel connects to the IPv4 address
                return self._admits(_embedded(address))
        if _is_in(address, self.denied):
            return False
        if isinstance(address, IPv6Address) and address in NAT64:
            inside = _embedded(address)
            return self._admits(inside) or (
                _is_in(address, self.allowed) and not _is_in(inside, self.denied)
            )
        return _is_in(address, self.allowed) or _is_public(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in GLOBAL_UNICAST:
        return False
    return not _is_in(address, NOT_PUBLIC)


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in one for one in networks)


def _embedded(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & _IPV4_BITS)
