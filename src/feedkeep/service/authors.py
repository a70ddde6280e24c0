"""Encode the authors of list changes for the store."""

from __future__ import annotations

import msgspec

from feedkeep.model import Author, CredentialKind, TokenId

_MAX_NAME_CHARACTERS = 100

_STORED = msgspec.json.Decoder(tuple[CredentialKind, TokenId | None, str, str, str])


def write_author(author: Author) -> str:
    """Encode an author as a short line of JSON."""
    name = author.name[:_MAX_NAME_CHARACTERS]
    columns = (author.kind, author.token_id, name, author.device, author.request)
    return msgspec.json.encode(columns).decode()


def read_author(stored: str) -> Author | None:
    """Decode a stored author; None if the text is empty."""
    return Author(*_STORED.decode(stored)) if stored else None
