"""How guids are stored in SQLite, as their 16 bytes; and the statement that adds a row."""

from __future__ import annotations

from feedkeep.model import Guid
from feedkeep.store.rows import Rows
from feedkeep.store.tables import Table, columns


def to_bytes(guid: Guid) -> bytes:
    """Return the 16 bytes of a guid."""
    return bytes.fromhex(guid.replace("-", ""))


def to_guid(raw: bytes) -> Guid:
    """Return the guid of 16 bytes."""
    text = raw.hex()
    return Guid(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


ROWS = Rows(to_bytes, to_guid)


def insert_into(table: Table, account_id: str = "account_id") -> str:
    """Return the statement that adds a row; the account's id is its first parameter."""
    places = ", ".join("?" * (len(table.columns) + 1))
    return f"INSERT INTO {table.name} ({account_id}, {columns(table.columns)}) VALUES ({places})"
