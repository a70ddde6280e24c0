"""What the guarded client asks, and how much it takes; apart, since aiohttp imports slowly."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from feedkeep import __version__
from feedkeep.config.networks import AddressRule, network
from feedkeep.config.settings import Settings

PORTS = frozenset({80, 443, 8080, 8443})
"""Where web servers listen; what listens elsewhere may take a request for something else."""


_SPARE_LOOK_UPS = 16
"""How many look-ups there may be besides one for each fetch: some outlast their fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPolicy:
    """Which hosts may be asked, and what an answer may cost.

    Attributes:
        reads_failures: Whether bodies of answers other than a success (2xx) are read.
        addresses: Which numeric addresses may be asked.
        ports: Which ports may be asked.
        user_agent: Who asks, in a header.
        max_bytes: How large a body may be, before and after it is unpacked.
        max_header_bytes: How large all headers of an answer may be together.
        max_redirects: How many redirects are followed for one answer.
        look_ups: How many names may be looked up at a time.
        connect_seconds: How long it may take to find and reach a host.
        silent_seconds: How long a host may send nothing.
        whole_seconds: How long everything may take, with all redirects.
        tls: Whom to trust, if not the authorities that the machine trusts.
    """

    reads_failures: bool = False
    addresses: AddressRule = field(default_factory=AddressRule)
    ports: frozenset[int] = PORTS
    user_agent: str = "feedkeep"
    max_bytes: int = 8 * 1024 * 1024
    max_header_bytes: int = 64 * 1024
    max_redirects: int = 5
    look_ups: int = _SPARE_LOOK_UPS
    connect_seconds: float = 10.0
    silent_seconds: float = 30.0
    whole_seconds: float = 30.0
    tls: ssl.SSLContext | None = None


def policy_of(settings: Settings) -> ClientPolicy:
    """Return what the settings let through the client to other hosts."""
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
