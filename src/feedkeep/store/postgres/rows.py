"""Conversion of guids to uuid columns in PostgreSQL, which asyncpg takes as text."""

from __future__ import annotations

from feedkeep.model import Guid
from feedkeep.store.rows import Rows

ROWS = Rows(
    write_guid=lambda guid: guid,
    read_guid=lambda raw: Guid(str(raw)),
    write_numbers=list,
)
