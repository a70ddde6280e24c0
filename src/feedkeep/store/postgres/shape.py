"""The two shapes of a statement for many requests: for one server, and for a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of statements that requests of several accounts share.

    A statement is a template. `{wanted(...)}` stands for rows `w` with the parameters of requests,
    and `{same("e")}` for the condition that a row of `e` belongs to the account of such a row. Each
    parameter is an array with an element per row; the first one has the accounts.

    Attributes:
        is_distributed: Whether each table is also compared with the accounts themselves. This lets
            a distributed PostgreSQL find the single machine that has them, if all are in one shard.
    """

    is_distributed: bool

    def same(self, table: str, rows: str = "w") -> str:
        """Return the condition that a row of `table` belongs to the account of one of `rows`."""
        is_same = f"{table}.account_id = {rows}.account_id"
        if not self.is_distributed:
            return is_same
        return f"{is_same} AND {table}.account_id = ANY($1::bigint[])"

    def wanted(self, first: int = 1, extra: str = "", /, **types: str) -> str:
        """Return the FROM item `w` with the account and the columns `types`."""
        return given_rows({"account_id": "bigint", **types}, first, extra)

    def selected(self, first: int = 1, /, **types: str) -> str:
        """Return the SELECT of rows to insert: the account, and the columns of `wanted`.

        If tables are distributed, it also reads the account's row. Otherwise Citus moves the rows
        to the coordinator and commits in two phases, and while a machine is unreachable,
        acknowledged writes can be invisible.
        """
        columns, rows = ", ".join(f"w.{name}" for name in types), self.wanted(first, **types)
        if not self.is_distributed:
            return f"SELECT w.account_id, {columns} FROM {rows}"
        return (
            f"SELECT a.account_id, {columns} FROM {rows}, feedkeep.account a WHERE {self.same('a')}"
        )


def given_rows(types: Mapping[str, str], first: int, extra: str = "") -> str:
    """Return the FROM item `w` with columns from arrays, starting at the parameter `first`."""
    arrays = ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(types.values(), first))
    columns = ", ".join([*types, *(["n"] if extra else [])])
    return f"unnest({arrays}) {extra} AS w ({columns})"


def as_columns(rows: Collection[Sequence[Any]]) -> list[list[Any]]:
    """Return the parameters for rows that start with their account: an array for each column."""
    return [list(column) for column in zip(*rows, strict=True)]
