"""Checking the numbers of rows that PostgreSQL reports as written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import asyncpg

from feedkeep.store.postgres.shape import as_columns

Row: TypeAlias = tuple[Any, ...]

Numbered: TypeAlias = Callable[[int], str]
"""Returns a statement whose parameters are numbered from the given number."""


class NotAllWritten(Exception):
    """A statement wrote fewer rows than it was given, and reported no error.

    While a shard is being split, Citus 13.2 may plan an INSERT ... SELECT for no shard at all: it
    inserts nothing, and the transaction continues. One or two acknowledged writes were lost with
    most splits (`tests/cluster/test_rebalancing.py`). The transaction is retried.
    """


class RowsToWrite(NamedTuple):
    """Rows to write, at least one, and the statement that writes them.

    Attributes:
        statement: Its parameters are the columns of the rows, as arrays.
        rows: The rows, each of which starts with its account.
        may_find_none: Whether the statement may change fewer rows than it is given.
    """

    statement: Numbered
    rows: Sequence[Row]
    may_find_none: bool

    def check(self, written: int) -> None:
        """Raise `NotAllWritten` if the number of written rows is wrong."""
        if not self.may_find_none:
            _check(written, len(self.rows))


def changed_rows(status: str) -> int:
    """Return the number of changed rows from PostgreSQL's status of a statement."""
    return int(status.rpartition(" ")[2])


async def write_all(
    connection: asyncpg.Connection, statement: str, rows: int, *parameters: Any
) -> None:
    """Execute a statement that must write exactly `rows` rows.

    Raises:
        NotAllWritten: It wrote a different number of rows.
    """
    _check(changed_rows(await connection.execute(statement, *parameters)), rows)


async def write_in_turn(connection: asyncpg.Connection, writes: Iterable[RowsToWrite]) -> None:
    """Write rows with one statement after the other, as a cluster requires.

    Raises:
        NotAllWritten: A statement wrote too few rows.
    """
    for write in writes:
        status = await connection.execute(write.statement(1), *as_columns(write.rows))
        write.check(changed_rows(status))


async def write_at_once(connection: asyncpg.Connection, writes: Sequence[RowsToWrite]) -> None:
    """Write rows with all statements in one round trip.

    Each statement sees the tables as before all of them, so no two may write the same row.

    Raises:
        NotAllWritten: A statement wrote too few rows.
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
    """Combine statements, each with its number of parameters, to one that counts their rows."""
    parts, counts, first = [], [], 1
    for number, (statement, parameters) in enumerate(statements):
        parts.append(f"w{number} AS ({statement(first)} RETURNING 1)")
        counts.append(f"(SELECT count(*) FROM w{number})")
        first += parameters
    return f"WITH {', '.join(parts)} SELECT {', '.join(counts)}"


def _check(written: int, rows: int) -> None:
    if written != rows:
        raise NotAllWritten(f"PostgreSQL wrote {written} of {rows} rows.")
