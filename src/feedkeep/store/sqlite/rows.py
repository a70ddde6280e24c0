"""How SQLite keeps a guid: as its 16 bytes."""

from __future__ import annotations

from feedkeep.model import Guid
from feedkeep.store.rows import Rows


def to_bytes(guid: Guid) -> bytes:
    """Return the 16 bytes of a guid."""
    return bytes.fromhex(guid.replace("-", ""))


def to_guid(raw: bytes) -> Guid:
    """Return the guid of 16 bytes."""
    text = raw.hex()
    return Guid(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


ROWS = Rows(to_bytes, to_guid)
