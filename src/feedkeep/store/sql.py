"""Statements for both databases, written in PostgreSQL's dialect.

Parameters are `$1`, `$2` and so on; tables are in the schema `feedkeep`. Expressions that SQLite
writes differently are constants of this module. Statements are rendered when their module is
imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NewType

from feedkeep.model import Guid, Value
from feedkeep.store.tables import Table, columns, columns_of

Sql = NewType("Sql", str)
"""A statement that was rendered for both databases; its text is for PostgreSQL."""

AND_NOT_DELETED = "[and not deleted]"
"""Condition that an account `a` is not deleted.

On PostgreSQL a deleted account has no row. On SQLite its row remains, without a name, until its
other rows are deleted.
"""

NOW = "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)"
"""Time in microseconds by the database's clock."""

SKIP_LOCKED = "FOR NO KEY UPDATE SKIP LOCKED"
"""End of a SELECT that locks the returned rows, and skips rows that are already locked."""

_IN_POSTGRES = {AND_NOT_DELETED: ""}
_IN_SQLITE = {
    AND_NOT_DELETED: "AND a.name <> ''",
    NOW: "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    SKIP_LOCKED: "",
    "greatest(": "max(",
    "least(": "min(",
    "feedkeep.": "",
    "$": "?",
}
_AMONG = re.compile(r"= ANY\(\?(\d+)::\w+\[\]\)")
_POSTGRES_TYPES = {bool: "boolean", bytes: "bytea", Guid: "uuid", str: "text"}
_rendered: dict[str, tuple[Sql, str]] = {}


def sql(text: str) -> Sql:
    """Render a statement for both databases."""
    return _both(text, text)


def for_sqlite(text: str) -> str:
    return _AMONG.sub(r"IN (SELECT value FROM carray(?\1))", _replaced(text, _IN_SQLITE))


def sqlite_form(statement: Sql) -> str:
    return _rendered[statement][1]


def one_row_form(statement: Sql) -> Sql:
    """Return PostgreSQL's statement for one row of parameters, which are no arrays."""
    return _rendered[statement][0]


def find_each(select: str, *types: str) -> Sql:
    """Render a SELECT for `Statements.find_each`.

    `$1` is an account. The other parameters are the columns of a row, of the given types, written
    as `w.p2`, `w.p3` and so on.
    """
    return _each(f"SELECT k.* FROM {_rows(types, 2)} CROSS JOIN LATERAL ({select}) k", select)


def find_guids(select: str) -> Sql:
    """Render a SELECT of a feed, whose only parameter is its guid, for `Driver.find_guids`."""
    in_postgres = select.replace("= $1", "= ANY($1::uuid[])")
    return _both(in_postgres, select.replace("= $1", "IN (SELECT value FROM carray($1))"))


def delete_each(table: Table, value: type[Value]) -> Sql:
    """Render a statement for `Statements.write_each` that deletes an account's rows by key.

    Columns have the types of the fields of `value`.
    """
    key = " AND ".join(f"{name} = w.p{n}" for n, name in enumerate(table.key, 2))
    delete, where = f"DELETE FROM feedkeep.{table.name}", f"WHERE account_id = $1 AND {key}"
    rows = _rows(_types(table.key, value), 2)
    return _each(f"{delete} USING {rows} {where}", f"{delete} {where}")


def save_each(table: Table, value: type[Value]) -> Sql:
    """Render a statement for `Statements.write_each` that inserts or replaces an account's rows.

    Columns have the types of the fields of `value`. On PostgreSQL the statement also reads the
    account's row. Otherwise Citus moves the rows to the coordinator and commits in two phases, and
    while a machine is unreachable, acknowledged writes can be invisible.
    """
    insert = f"INSERT INTO feedkeep.{table.name} (account_id, {columns(table.columns)})"
    values = ", ".join(f"w.p{n}" for n, _ in enumerate(table.columns, 2))
    rows = _rows(_types(table.columns, value), 2)
    return _each(
        f"{insert} SELECT a.account_id, {values} FROM {rows}, feedkeep.account a"
        f" WHERE a.account_id = $1 {table.or_update}",
        f"{insert} VALUES ($1, {values}) {table.or_update}",
    )


def change_each(change: str, condition: str) -> Sql:
    """Render an UPDATE or DELETE for `Driver.write_rows` of the feeds `f` that meet a condition.

    The only parameter of a row is the guid, `$1`. On one PostgreSQL server, feeds that are locked
    are skipped.
    """
    held = f"SELECT f.guid FROM feedkeep.feed f WHERE f.guid = ANY($1::uuid[]) AND {condition}"
    return _each(
        f"WITH held AS MATERIALIZED ({held} FOR UPDATE SKIP LOCKED)"
        f" {change} WHERE f.guid IN (SELECT guid FROM held)",
        f"{change} WHERE f.guid = $1 AND {condition}",
    )


def insert_each(insert: str, values: str, rest: str, *types: str) -> Sql:
    """Render an INSERT of rows that belong to no account.

    It is for `Statements.write_each` and `Driver.write_rows`. In `values`, the columns of a row are
    written as `w.p1`, `w.p2` and so on.
    """
    rows = _rows(types, 1)
    return _each(
        f"{insert} SELECT {values} FROM {rows} {rest}", f"{insert} VALUES ({values}) {rest}"
    )


def _types(names: Sequence[str], value: type[Value]) -> list[str]:
    kinds = columns_of(value)
    return [_POSTGRES_TYPES.get(kinds[name], "bigint") for name in names]


def _rows(types: Sequence[str], first: int) -> str:
    """Return the FROM item `w`, whose columns `p1`, `p2` and so on are passed as arrays."""
    numbers = range(first, first + len(types))
    arrays = ", ".join(f"${n}::{kind}[]" for n, kind in zip(numbers, types, strict=True))
    return f"unnest({arrays}) AS w ({', '.join(f'p{n}' for n in numbers)})"


def _each(postgres: str, one_row: str) -> Sql:
    return _both(postgres, one_row.replace("w.p", "$"))


def _both(postgres: str, one_row: str) -> Sql:
    statement = Sql(_replaced(postgres, _IN_POSTGRES))
    _rendered[statement] = (Sql(_replaced(one_row, _IN_POSTGRES)), for_sqlite(one_row))
    return statement


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, own_word in words.items():
        text = text.replace(word, own_word)
    return text
