"""The address of a client, in one spelling, whoever tells it. Pure."""

from __future__ import annotations

import ipaddress
import re

_WITH_PORT = re.compile(r"\[([^\]]+)\](?::[0-9]*)?|([0-9]+(?:\.[0-9]+){3}):[0-9]*")


def plain_address(text: str) -> str:
    """Return an address without a port, and an IPv4 address as such where IPv6 carries it.

    A socket that listens for both sees `::ffff:192.0.2.1`; some proxies add the port of the
    connection (RFC 7239, section 6, has both spellings). What is no address is returned as it is.
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
