"""Identities of people at another provider, and names and rights derived from them. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from feedkeep.rules.credentials import MAX_NAME_CHARACTERS

MAX_SUBJECT_CHARACTERS = 255
"""Maximum length of a provider's id for a person (OpenID Connect Core, section 2)."""

_NAME_CLAIMS = ("preferred_username", "nickname", "email", "name")
_FALLBACK = "listener"
_MOST_NAMES = 50


def identity_of(issuer: str, subject: str) -> bytes:
    """Return the identity to link to an account: never a mail address, whose owner can change."""
    return hashlib.sha256(f"{issuer}\0{subject}".encode()).digest()


def names_for(claims: Mapping[str, Any]) -> Iterator[str]:
    """Yield possible names for a new account from a provider's claims, best first."""
    told = (claims.get(name) for name in _NAME_CLAIMS)
    texts = (text.partition("@")[0] for text in told if isinstance(text, str))
    names = (re.sub(r"[^\w.-]+", "-", text).strip("-._") for text in texts)
    name = next((one[: MAX_NAME_CHARACTERS - 3] for one in names if one), _FALLBACK)
    yield name
    for number in range(2, _MOST_NAMES):
        yield f"{name}-{number}"


def is_administrator(claims: Mapping[str, Any], wanted: str) -> bool:
    """Whether a provider's claims contain `wanted`, such as groups=admins."""
    name, _, value = wanted.partition("=")
    told = claims.get(name)
    return value in (told if isinstance(told, list) else [told])
