"""How many rows statements wrote, by PostgreSQL's own word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import asyncpg

from feedkeep.store.postgres.shape import as_columns

Row: TypeAlias = tuple[Any, ...]

Numbered: TypeAlias = Callable[[int], str]
"""Returns a statement whose parameters have numbers from the given one on."""


class NotAllWritten(Exception):
    """A statement wrote fewer rows than it was given, and reported no error.

    Citus 13.2 plans an INSERT ... SELECT for no shard at all if its shard is being split just then:
    it inserts nothing, and the transaction goes on. One or two writes were acknowledged and lost
    with most splits (`tests/cluster/test_rebalancing.py`). It is tried again.
    """


class RowsToWrite(NamedTuple):
    """Rows to write, of which there is at least one, and the statement that writes them.

    Attributes:
        statement: Its parameters are the columns of the rows, as arrays.
        rows: The rows, each of which starts with its account.
        may_find_none: Whether the statement may change fewer rows than it is given.
    """

    statement: Numbered
    rows: Sequence[Row]
    may_find_none: bool

    def check(self, written: int) -> None:
        """Raise `NotAllWritten` if another number of rows was written than has to be."""
        if not self.may_find_none:
            _check(written, len(self.rows))


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
    _check(changed_rows(await connection.execute(statement, *parameters)), rows)


async def write_in_turn(connection: asyncpg.Connection, writes: Iterable[RowsToWrite]) -> None:
    """Write rows by one statement after the other, as a cluster needs it.

    Raises:
        NotAllWritten: A statement wrote fewer rows than it has to.
    """
    for write in writes:
        status = await connection.execute(write.statement(1), *as_columns(write.rows))
        write.check(changed_rows(status))


async def write_at_once(connection: asyncpg.Connection, writes: Sequence[RowsToWrite]) -> None:
    """Write rows by all statements in one round trip.

    Each statement sees the tables as they were before all of them, so no two may write one row.

    Raises:
        NotAllWritten: A statement wrote fewer rows than it has to.
    """
    if not writes:
        return
    together = _together(tuple((write.statement, len(write.rows[0])) for write in writes))
    parameters = [column for write in writes for column in as_columns(write.rows)]
    written = await connection.fetchrow(together, *parameters)
    for write, count in zip(writes, written, strict=True):
        write.check(count)


@lru_cache(256)
def _together(statements: tuple[tuple[Numbered, int], ...]) -> str:
    """Return one statement for several, each with its number of parameters; it counts the rows."""
    parts, counts, first = [], [], 1
    for number, (statement, parameters) in enumerate(statements):
        parts.append(f"w{number} AS ({statement(first)} RETURNING 1)")
        counts.append(f"(SELECT count(*) FROM w{number})")
        first += parameters
    return f"WITH {', '.join(parts)} SELECT {', '.join(counts)}"


def _check(written: int, rows: int) -> None:
    if written != rows:
        raise NotAllWritten(f"PostgreSQL wrote {written} of {rows} rows.")
