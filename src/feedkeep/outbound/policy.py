"""Policy of the guarded client; a separate module, since aiohttp imports slowly."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from feedkeep import __version__
from feedkeep.config.networks import AddressRule, network
from feedkeep.config.settings import Settings

PORTS = frozenset({80, 443, 8080, 8443})
"""Ports of web servers; other services may misread an HTTP request."""


_SPARE_LOOK_UPS = 32
"""Lookups allowed besides one for each scheduled fetch: for first looks, and as some outlast it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPolicy:
    """Permitted targets, and limits on responses.

    Attributes:
        reads_failures: Whether bodies of responses other than a success (2xx) are read.
        max_bytes: Maximum size of a body, before and after decompression.
        max_header_bytes: Maximum size of all headers of a response.
        look_ups: Maximum number of concurrent lookups.
        connect_seconds: Timeout of finding and reaching a host.
        silent_seconds: Maximum time without received data.
        whole_seconds: Timeout of a request with all its redirects.
        tls: Trusted authorities, if not the machine's.
    """

    reads_failures: bool = False
    addresses: AddressRule = field(default_factory=AddressRule)
    ports: frozenset[int] = PORTS
    user_agent: str = "feedkeep"
    max_bytes: int = 8 * 1024 * 1024
    max_header_bytes: int = 64 * 1024
    max_redirects: int = 10
    look_ups: int = _SPARE_LOOK_UPS
    connect_seconds: float = 10.0
    silent_seconds: float = 30.0
    whole_seconds: float = 30.0
    tls: ssl.SSLContext | None = None


def policy_of(settings: Settings) -> ClientPolicy:
    """Return the client policy of the settings."""
    contact = f" (+{settings.fetch_contact})" if settings.fetch_contact else ""
    return ClientPolicy(
        addresses=AddressRule(
            allowed=tuple(map(network, settings.fetch_allowed)),
            denied=tuple(map(network, settings.fetch_denied)),
        ),
        ports=PORTS | set(settings.fetch_ports),
        user_agent=f"feedkeep/{__version__}{contact}",
        look_ups=_SPARE_LOOK_UPS + settings.fetch_connections,
    )
