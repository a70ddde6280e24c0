"""Which numeric addresses may be asked: those of the public internet, and whatever was allowed.

The lists are those of IANA's registries of special-purpose addresses, written out: what `ipaddress`
knows of them differs from one Python to the next, and takes multicast for global. Pure.
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
            "0.0.0.0/8",  # this machine, by another name
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # behind a provider's NAT; metadata of some clouds
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # looks public, and is the host of each machine in Azure
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
            "2002::/16",  # 6to4: leads to the IPv4 address inside it
            "3fff::/20",  # documentation
        ),
    )
)
"""What is no global unicast, of IPv4 and of `GLOBAL_UNICAST`."""

GLOBAL_UNICAST = IPv6Network("2000::/3")
"""All that was ever given out of IPv6; around it are loopback, link-local, private, multicast."""

NAT64 = IPv6Network("64:ff9b::/96")
"""How machines without IPv4 reach it: the last 32 bits are the IPv4 address that is asked."""

EVERYWHERE = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))
"""All addresses, for what the owner of this machine has named by themselves."""

_MAPPED = IPv6Network("::ffff:0:0/96")
_IPV4_BITS = 2**32 - 1


def network(text: str) -> Network:
    """Return the network, or the single address, that a text names.

    Raises:
        ValueError: It names none; `10.0.0.1/8` does not either, since bits follow the prefix.
    """
    found = ipaddress.ip_network(text)
    if isinstance(found, IPv6Network) and found.subnet_of(_MAPPED):
        return IPv4Network((_embedded(found.network_address), found.prefixlen - 96))
    return found


def covers_internet(texts: Iterable[str]) -> bool:
    """Whether networks together have half of all IPv4 addresses, or of those given out of IPv6."""
    networks = [network(text) for text in texts]
    ipv4 = ipaddress.collapse_addresses(one for one in networks if isinstance(one, IPv4Network))
    ipv6 = ipaddress.collapse_addresses(one for one in networks if isinstance(one, IPv6Network))
    return (
        sum(one.num_addresses for one in ipv4) >= 2**31
        or sum(one.num_addresses for one in ipv6) >= GLOBAL_UNICAST.num_addresses // 2
    )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by an address or as localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def leads_to_loopback(url: str) -> bool:
    """Whether a URL has this machine as its host."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return host is not None and is_loopback(host)


@dataclass(frozen=True, slots=True)
class AddressRule:
    """Says which addresses may be asked.

    Attributes:
        allowed: Networks that may be asked although they are not public.
        denied: Networks that may not be asked, even if they are public or allowed.
    """

    allowed: tuple[Network, ...] = ()
    denied: tuple[Network, ...] = ()

    def admits(self, text: str) -> bool:
        """Say whether an address may be asked; what is not one in its usual form may not.

        An IPv6 address that stands for one of IPv4 is judged as that.
        """
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        return self._admits(address)

    def _admits(self, address: Address) -> bool:
        if isinstance(address, IPv6Address):
            if address.scope_id is not None:  # means something on one network card only
                return False
            if address in _MAPPED:  # the kernel asks the IPv4 address
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
