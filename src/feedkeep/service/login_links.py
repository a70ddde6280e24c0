"""The links of Nextcloud's login: what they are made of, and how long they are good for. Pure.

Nothing is stored of a login until it is granted. So the secret, which only the app knows, contains
the second in which the login was begun, and what the app asks for. The link has both, too, and the
SHA-256 of the secret. A link with another second or scope can still be granted, but then the app
cannot fetch the login.
"""

from __future__ import annotations

import hashlib
import re

from feedkeep.model import Scope

OPEN_SECONDS = 1_200
"""How long after its start a login can be granted and fetched; apps wait five minutes."""

_CLOCKS_DIFFER_SECONDS = 60
"""The maximum difference between the clocks of the service's machines."""

REMEMBERED_SECONDS = OPEN_SECONDS + 2 * _CLOCKS_DIFFER_SECONDS
"""How long a granted login is remembered; after that it can no longer be granted anyway."""

_READS = "read."
_SECRET = re.compile(rf"([0-9]{{1,12}})\.({re.escape(_READS)})?[A-Za-z0-9_-]{{20,}}")


def new_secret(random: str, now_seconds: int, scope: Scope = Scope.WRITE) -> str:
    """Return the secret of an app that begins a login; `random` must be impossible to guess."""
    return f"{now_seconds}.{_READS if scope is Scope.READ else ''}{random}"


def login_of(secret: str) -> bytes:
    """Return the part of a link that is derived from the secret."""
    return hashlib.sha256(secret.encode()).digest()


def scope_of(secret: str) -> Scope:
    """Return what the app that has the secret asked for."""
    found = _SECRET.fullmatch(secret)
    return Scope.READ if found and found[2] else Scope.WRITE


def granted_as(login: bytes, scope: Scope) -> bytes:
    """Return what a login is stored under that was granted with a scope.

    The page knows the secret's hash alone, so it cannot see what the app asked for. An app whose
    link says less than its secret is let in under a key that it does not look for.
    """
    return login if scope is Scope.WRITE else hashlib.sha256(login + b"read").digest()


def begun_at(secret: str) -> int | None:
    """Return the second in which a login was begun; None if the secret is not valid."""
    found = _SECRET.fullmatch(secret)
    return int(found[1]) if found else None


def read_begun(text: str) -> int | None:
    """Return the second of a link; None if it is not valid."""
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def is_open(begun_seconds: int | None, now_seconds: int) -> bool:
    """Say whether a login that was begun at that second can still be granted and fetched."""
    if begun_seconds is None:
        return False
    return -_CLOCKS_DIFFER_SECONDS <= now_seconds - begun_seconds <= OPEN_SECONDS
