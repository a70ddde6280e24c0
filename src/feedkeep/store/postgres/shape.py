"""The two shapes of a statement for many requests: for any accounts, or for one account only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from feedkeep.model import AccountId


@dataclass(frozen=True, slots=True)
class Shape:
    """How a statement names the accounts of the requests that share it.

    A statement is a template with two places. `{wanted(...)}` stands for the rows that the requests
    ask for, and `{account}` for the account of each. Its first parameter is always the accounts;
    each of the others is an array with an element for each row.

    Attributes:
        is_distributed: Whether all rows are of one account, so that a distributed PostgreSQL finds
            the one machine that has them: `account_id = $1`. Otherwise they may be of any, and
            every table is joined on `w.account_id`.
    """

    is_distributed: bool

    @property
    def account(self) -> str:
        """What `account_id` is compared with."""
        return "$1" if self.is_distributed else "w.account_id"

    def wanted(self, extra: str = "", **types: str) -> str:
        """Return the FROM item `w` whose columns are named and typed by `types`."""
        if not self.is_distributed:
            types = {"account_id": "bigint", **types}
        first = 2 if self.is_distributed else 1
        arrays = ", ".join(f"${first + i}::{kind}[]" for i, kind in enumerate(types.values()))
        columns = ", ".join([*types, *(["n"] if extra else [])])
        return f"unnest({arrays}) {extra} AS w ({columns})"

    def selected(self, **types: str) -> str:
        """Return the SELECT of what is to be inserted: the account, and the columns of `wanted`.

        If tables are split, it reads the account's row, too. Without that, Citus brings the rows to
        the coordinator and commits in two phases. Then acknowledged writes can be invisible while a
        machine is away.
        """
        columns, rows = ", ".join(f"w.{name}" for name in types), self.wanted(**types)
        if not self.is_distributed:
            return f"SELECT w.account_id, {columns} FROM {rows}"
        joined = f"feedkeep.account a, {rows} WHERE a.account_id = $1"
        return f"SELECT a.account_id, {columns} FROM {joined}"

    def accounts(self, account_ids: Sequence[AccountId]) -> Any:
        """Return the first parameter for rows of these accounts."""
        return account_ids[0] if self.is_distributed else account_ids

    def columns(self, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the parameters for rows that start with their account."""
        account_ids, *columns = (list(column) for column in zip(*rows, strict=True))
        return [self.accounts(account_ids), *columns]
