"""Documents that each show one feature of feeds, with the content to be read from them."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import NamedTuple

from feedkeep.model import FeedContent, Stamp

URL = "https://feeds.example/shows/feed.xml"
_HERE = Path(__file__).parent


class Example(NamedTuple):
    name: str
    document: bytes
    content_type: str
    expected: FeedContent | str
    """Content to be read from it, or the reason for rejecting it."""


def hashed(item_id: str) -> str:
    return hashlib.sha256(item_id.encode()).hexdigest()[:16]


def examples() -> list[Example]:
    table = tomllib.loads((_HERE / "expected.toml").read_text())
    return [_example(name, dict(row)) for name, row in table.items()]


def documents() -> list[bytes]:
    return [example.document for example in examples()]


def _example(name: str, row: dict) -> Example:
    assert row.pop("shows")
    document = (_HERE / "corpus" / name).read_bytes()
    content_type = row.pop("content_type", "")
    if refused := row.pop("refused", ""):
        assert not row, name
        return Example(name, document, content_type, refused)
    items = tuple(map(hashed, row.pop("items")))
    newest = row.pop("newest", None)
    if newest is not None:
        newest = Stamp(round(newest.timestamp() * 1_000_000))
    expected = FeedContent(items=items, newest=newest, **row)
    return Example(name, document, content_type, expected)
