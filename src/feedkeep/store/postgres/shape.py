"""The two shapes of a statement for many requests: on one server, and on a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """How a statement names the accounts of the requests that share it.

    A statement is a template. `{wanted(...)}` stands for rows `w`, which say what requests ask for,
    and `{same("e")}` for the condition that a row of `e` is of the account of such a row. Each
    parameter is an array with an element for each row; the first one has the accounts.

    Attributes:
        is_distributed: Whether each table is also compared with the accounts themselves. By that, a
            distributed PostgreSQL finds the one machine that has them, if all are of one shard.
    """

    is_distributed: bool

    def same(self, table: str, rows: str = "w") -> str:
        """Return the condition that a row of `table` is of the account of one of `rows`."""
        is_same = f"{table}.account_id = {rows}.account_id"
        if not self.is_distributed:
            return is_same
        return f"{is_same} AND {table}.account_id = ANY($1::bigint[])"

    def wanted(self, first: int = 1, extra: str = "", /, **types: str) -> str:
        """Return the FROM item `w` with the account and the columns that `types` names."""
        return given_rows({"account_id": "bigint", **types}, first, extra)

    def selected(self, first: int = 1, /, **types: str) -> str:
        """Return the SELECT of what is to be inserted: the account, and the columns of `wanted`.

        If tables are split, it reads the account's row, too. Without that, Citus brings the rows to
        the coordinator and commits in two phases. Then acknowledged writes can be invisible while a
        machine is away.
        """
        columns, rows = ", ".join(f"w.{name}" for name in types), self.wanted(first, **types)
        if not self.is_distributed:
            return f"SELECT w.account_id, {columns} FROM {rows}"
        return (
            f"SELECT a.account_id, {columns} FROM {rows}, feedkeep.account a WHERE {self.same('a')}"
        )


def given_rows(types: Mapping[str, str], first: int, extra: str = "") -> str:
    """Return the FROM item `w` whose columns come in arrays, from the parameter `first` on."""
    arrays = ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(types.values(), first))
    columns = ", ".join([*types, *(["n"] if extra else [])])
    return f"unnest({arrays}) {extra} AS w ({columns})"


def as_columns(rows: Collection[Sequence[Any]]) -> list[list[Any]]:
    """Return the parameters for rows that start with their account: an array for each column."""
    return [list(column) for column in zip(*rows, strict=True)]
