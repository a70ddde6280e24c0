"""Nextcloud login links: contents and validity. Pure.

Nothing is stored about a login until it is granted. So the secret, which only the app has, contains
the second in which the login began and the requested scope. The link contains both, too, and the
SHA-256 of the secret. If a link's second or scope was changed, the login can be granted, but the
app cannot fetch it.
"""

from __future__ import annotations

import hashlib
import re

from feedkeep.model import Scope

OPEN_SECONDS = 1_200
"""Time within which a login can be granted and fetched; apps wait five minutes."""

_CLOCKS_DIFFER_SECONDS = 60
"""The maximum difference between the clocks of the service's machines."""

REMEMBERED_SECONDS = OPEN_SECONDS + 2 * _CLOCKS_DIFFER_SECONDS
"""Retention of granted logins; afterwards they could no longer be granted anyway."""

_READS = "read."
_SECRET = re.compile(rf"([0-9]{{1,12}})\.({re.escape(_READS)})?[A-Za-z0-9_-]{{20,}}")


def new_secret(random: str, now_seconds: int, scope: Scope = Scope.WRITE) -> str:
    """Return the secret of an app that begins a login; `random` must be unguessable."""
    return f"{now_seconds}.{_READS if scope is Scope.READ else ''}{random}"


def login_of(secret: str) -> bytes:
    """Return the hash of the secret, which is part of the link."""
    return hashlib.sha256(secret.encode()).digest()


def scope_of(secret: str) -> Scope:
    found = _SECRET.fullmatch(secret)
    return Scope.READ if found and found[2] else Scope.WRITE


def granted_as(login: bytes, scope: Scope) -> bytes:
    """Return the key under which a login granted with a scope is stored.

    The page knows only the secret's hash, not the requested scope. If the link's scope differs from
    the secret's, the login is stored under a key that the app does not look up.
    """
    return login if scope is Scope.WRITE else hashlib.sha256(login + b"read").digest()


def begun_at(secret: str) -> int | None:
    """Return the second in which a login began; None if the secret is invalid."""
    found = _SECRET.fullmatch(secret)
    return int(found[1]) if found else None


def read_begun(text: str) -> int | None:
    """Return the second in a link; None if invalid."""
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def is_open(begun_seconds: int | None, now_seconds: int) -> bool:
    """Whether a login begun at that second can still be granted and fetched."""
    if begun_seconds is None:
        return False
    return -_CLOCKS_DIFFER_SECONDS <= now_seconds - begun_seconds <= OPEN_SECONDS
