"""Names and encoding of documents."""

from __future__ import annotations

import hashlib

import msgspec


def short_name(text: str) -> str:
    """Return a name of 32 characters for a text that may contain two long URLs."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
