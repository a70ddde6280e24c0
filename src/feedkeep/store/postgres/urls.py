"""The URL of a PostgreSQL database: its hosts, its certificates, and what is told if it is none."""

from __future__ import annotations

import os
import ssl
from urllib.parse import parse_qs, urlsplit, urlunsplit

from feedkeep.model.errors import StoreUnusable

NO_URL = (
    "That is not the URL of a PostgreSQL database: give postgresql://user:password@host:port/name,"
    " with special characters of the password percent-encoded, and with no parameters but those of"
    " TLS and PostgreSQL's own settings."
)
NO_CERTIFICATE = (
    "To check PostgreSQL's certificate takes the one of its authority: name a file that has it by"
    " &sslrootcert=FILE in the URL, or put it at ~/.postgresql/root.crt."
)


def split_by_host(url: str) -> list[str]:
    """Return a URL for each of the hosts that a URL names."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise StoreUnusable(NO_URL) from None
    user, at, hosts = parts.netloc.rpartition("@")
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{host}")) for host in hosts.split(",")]


def own_name(url: str) -> dict[str, str]:
    """Return the name by which PostgreSQL lists a connection, unless the URL has one."""
    if "application_name" in parse_qs(urlsplit(url).query):
        return {}
    return {"application_name": os.environ.get("PGAPPNAME") or "feedkeep"}


def check_certificate(url: str) -> None:
    """Refuse a file with certificates that cannot be used: to wait does not mend it."""
    query = parse_qs(urlsplit(url).query)
    mode = query.get("sslmode", [os.environ.get("PGSSLMODE", "")])[-1]
    path = query.get("sslrootcert", [os.environ.get("PGSSLROOTCERT", "")])[-1]
    if path and mode in {"require", "verify-ca", "verify-full"}:
        try:
            ssl.create_default_context(cafile=path)
        except OSError as error:
            reason = "it has none" if isinstance(error, ssl.SSLError) else error.strerror
            raise StoreUnusable(f"Cannot read certificates from {path}: {reason}.") from error


def wanted_session(url: str) -> str | None:
    """Return which kind of host is wanted: one that takes writes, unless the URL says otherwise."""
    return None if "target_session_attrs" in parse_qs(urlsplit(url).query) else "read-write"
