"""The links of Nextcloud's login: what they are made of, and how long they are good for. Pure.

Nothing is kept of a login until it is granted. So the secret, which only the app gets to know, says
when the login was begun. The link has that second, too, and the secret's SHA-256: whoever writes
another second into it can grant the login, but the app's secret does not fetch it.
"""

from __future__ import annotations

import hashlib
import re

OPEN_SECONDS = 1_200
"""How long a login can be granted and fetched, from when it was begun; apps wait five minutes."""

_CLOCKS_DIFFER_SECONDS = 60
"""By how much the clocks of the machines that serve may differ."""

REMEMBERED_SECONDS = OPEN_SECONDS + 2 * _CLOCKS_DIFFER_SECONDS
"""After how long no login can be granted any more that was granted before."""

_SECRET = re.compile(r"([0-9]{1,12})\.[A-Za-z0-9_-]{20,}")


def new_secret(random: str, now_seconds: int) -> str:
    """Return what an app that begins a login keeps to itself, made of what nobody can guess."""
    return f"{now_seconds}.{random}"


def login_of(secret: str) -> bytes:
    """Return what a link shows of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def begun_at(secret: str) -> int | None:
    """Return the second in which a login was begun; None if this is no secret of one."""
    found = _SECRET.fullmatch(secret)
    return int(found[1]) if found else None


def read_begun(text: str) -> int | None:
    """Return the second that a link names; None if it names none."""
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def is_open(begun_seconds: int | None, now_seconds: int) -> bool:
    """Say whether a login that was begun then can still be granted and fetched."""
    if begun_seconds is None:
        return False
    return -_CLOCKS_DIFFER_SECONDS <= now_seconds - begun_seconds <= OPEN_SECONDS
