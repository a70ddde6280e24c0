"""The URL of a PostgreSQL database: its hosts, its certificates, and messages for invalid URLs."""

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
    """Return a URL for each host of a URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise StoreUnusable(NO_URL) from None
    user, at, hosts = parts.netloc.rpartition("@")
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{host}")) for host in hosts.split(",")]


def own_name(url: str) -> dict[str, str]:
    """Return the application name of connections, unless the URL sets one."""
    if "application_name" in parse_qs(urlsplit(url).query):
        return {}
    return {"application_name": os.environ.get("PGAPPNAME") or "feedkeep"}


def check_certificate(url: str) -> None:
    """Reject an unusable file of certificates at once: retries would not help."""
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
    """Return the required type of session: read-write, unless the URL sets one."""
    return None if "target_session_attrs" in parse_qs(urlsplit(url).query) else "read-write"
