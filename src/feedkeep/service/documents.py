"""How what is kept as a document is named and written: JSON, under a short name."""

from __future__ import annotations

import hashlib

import msgspec


def short_name(text: str) -> str:
    """Return a short name for what can be two long URLs."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def as_json(value: object) -> str:
    """Return a value as the text of JSON."""
    return msgspec.json.encode(value).decode()
