"""Normalized client addresses, from sockets and proxies. Pure."""

from __future__ import annotations

import ipaddress
import re

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
