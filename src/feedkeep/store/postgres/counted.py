"""How many rows a statement wrote, by PostgreSQL's own word."""

from __future__ import annotations

from typing import Any

import asyncpg


class NotAllWritten(Exception):
    """A statement wrote fewer rows than it was given, and reported no error.

    Citus 13.2 plans an INSERT ... SELECT for no shard at all if its shard is being split just then:
    it inserts nothing, and the transaction goes on. One or two writes were acknowledged and lost
    with most splits (`tests/cluster/test_rebalancing.py`). It is tried again.
    """


def changed_rows(status: str) -> int:
    """Return how many rows a statement changed, by what PostgreSQL says when it is done."""
    return int(status.rpartition(" ")[2])


async def write_all(
    connection: asyncpg.Connection, statement: str, rows: int, *parameters: Any
) -> None:
    """Execute a statement that has to write so many rows.

    Raises:
        NotAllWritten: It wrote another number of rows.
    """
    written = changed_rows(await connection.execute(statement, *parameters))
    if written != rows:
        raise NotAllWritten(f"PostgreSQL wrote {written} of {rows} rows.")
