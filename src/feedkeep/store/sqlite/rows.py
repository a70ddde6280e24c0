"""Conversion of guids to 16 bytes in SQLite, and statements that write a row."""

from __future__ import annotations

import struct
from array import array
from binascii import hexlify
from collections.abc import Sequence

import apsw

from feedkeep.model import Guid
from feedkeep.store.rows import Rows
from feedkeep.store.tables import Table, columns

_GROUPS = struct.Struct("8s4s4s4s12s").unpack


def to_bytes(guid: Guid) -> bytes:
    return bytes.fromhex(guid.replace("-", ""))


def to_guid(raw: bytes) -> Guid:
    """Return the guid of 16 bytes; cutting its text into five parts would take twice as long."""
    return Guid(b"-".join(_GROUPS(hexlify(raw))).decode())


ROWS = Rows(
    to_bytes,
    to_guid,
    write_numbers=lambda numbers: apsw.carray(array("q", numbers)),
)


def insert_into(table: Table) -> str:
    """Return the statement that inserts a row; the account's id is its first parameter."""
    places = ", ".join("?" * (len(table.columns) + 1))
    return f"INSERT INTO {table.name} (account_id, {columns(table.columns)}) VALUES ({places})"


def update(table: Table, kept: Sequence[str] = ()) -> str:
    """Return the statement that updates a row, with the same parameters as `insert_into`.

    The columns `kept`, which must be the last ones, stay unchanged and have no parameter.
    """
    key = ("account_id", *table.key)
    places = {name: f"?{place}" for place, name in enumerate(("account_id", *table.columns), 1)}
    changed = [name for name in table.columns if name not in (*key, *kept)]
    return (
        f"UPDATE {table.name} SET {', '.join(f'{name} = {places[name]}' for name in changed)}"
        f" WHERE {' AND '.join(f'{name} = {places[name]}' for name in key)}"
    )
