"""Names, columns and keys of the tables, from which statements are built. Pure.

Where a row holds the fields of a value, its columns are named like the fields. The databases differ
only in column types, which their schemas define.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args

from msgspec.structs import fields

from feedkeep.model import (
    Account,
    AccountRecord,
    Deletion,
    Document,
    EpisodeAction,
    FeedLabel,
    Guid,
    Stamp,
    Subscription,
    Token,
    Value,
)
from feedkeep.model.weights import KIB, REST_BYTES, TEXTS_OF_ACTION

COUNTS = ("subscribed_count", "announced_count", "entry_count")
"""The columns of an account with the counts of its list."""

ACCOUNT = (*Account.__struct_fields__[1:-1], *COUNTS)
"""The columns of an account, except its id."""

RESTORED = (
    *("last_stamp", "last_action_stamp", "epoch", "lost_after", "lost_until"),
    *("actions_lost_after", "actions_lost_until"),
)
"""The columns of an account that a restore or the correction of a clock changes."""

TOKEN = Token.__struct_fields__
NEW_TOKEN = TOKEN[: TOKEN.index("last_sent_subscriptions")]
"""The columns of a new token, whose app was not sent anything yet."""


def type_of(hint: Any) -> Any:
    """Return the type of a field without None."""
    kinds = get_args(hint)
    return next(kind for kind in kinds if kind is not NoneType) if NoneType in kinds else hint


def is_value(kind: Any) -> bool:
    """Whether values of a type have fields of their own."""
    return isinstance(kind, type) and issubclass(kind, Value)


def columns_of(value: type[Value], prefix: str = "") -> dict[str, Any]:
    """Return the columns of a value's fields, nested ones included, with their types."""
    columns: dict[str, Any] = {}
    for field in fields(value):
        name, kind = f"{prefix}{field.name}", type_of(field.type)
        if is_value(kind):
            columns |= columns_of(kind, f"{name}_")
        else:
            columns[name] = kind
    return columns


_ENTRY = {"guid": Guid, "new_guid": Guid} | columns_of(Subscription)

ENTRY = tuple(_ENTRY)
"""The columns of an entry that requests read: a subscription's, and a pointer's target.

The others are the account's id; the revision, which follows from these; and `ORIGIN`.
"""

STAMPED = ("subscription_changed", "guid_changed", "revision")
"""The columns of an entry that restamping changes."""

ORIGIN = ("began", "author")
"""The columns of an entry for the stamp and the author of its present state."""

STATE = (*ENTRY, *ORIGIN)
"""The columns of an entry's state, except the stamp at which it ended."""

TYPES = _ENTRY | {"revision": Stamp, "began": Stamp, "author": str, "ended": Stamp}
"""The types of all columns of entries and of their former states."""

_OF_THE_SERVER = ("first_had", "alias_first_had")
"""Stamps of the server's clock."""

_STATE_STAMPS = tuple(name for name in STATE if TYPES[name] is Stamp and name not in _OF_THE_SERVER)

ACTION = EpisodeAction.__struct_fields__


def columns(names: Sequence[str], alias: str = "") -> str:
    """Return a list of columns for a statement in which their table has the name `alias`."""
    return ", ".join(f"{alias}.{name}" if alias else name for name in names)


ACCOUNT_COLUMNS = f"a.account_id, {columns(ACCOUNT, 'a')}"
"""The columns of the table `account`, with the alias `a`, from which an account is read."""


def weight(names: Sequence[str]) -> str:
    """Return the SQL expression of `model.weights.weight` for text columns."""
    size = " + ".join(f"coalesce(octet_length({name}), 0)" for name in names)
    return f"(1 + ({size} + {REST_BYTES - 1}) / {KIB})"


WEIGHT_OF_STATE = weight([name for name in ENTRY if TYPES[name] is str])
"""SQL expression for the weight of a row of the table `former_entry`, without an alias."""

WEIGHT_OF_ACTION = weight(TEXTS_OF_ACTION)
"""SQL expression for the weight of a row of the table `episode_action`."""

WEIGHT_OF_DOCUMENT = weight(("body",))
"""SQL expression for the weight of a row of the table `document`."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows belong to accounts.

    Attributes:
        columns: Its columns in the order of writing, except the account's id, which comes first.
        key: The columns that identify a row of an account; archives are ordered by them.
        kept: Columns that an update leaves unchanged, all together, if the first of them is null in
            the new row.
        stamps: Its columns with stamps of the account's clocks. The first is unique in an account,
            unless it is part of the key.
    """

    name: str
    columns: Sequence[str]
    key: Sequence[str] = ()
    kept: Sequence[str] = ()
    stamps: Sequence[str] = ()

    @property
    def or_update(self) -> str:
        """End of an INSERT that replaces the row with the same key."""
        others = [name for name in self.columns if name not in self.key]
        return (
            f"ON CONFLICT ({columns(('account_id', *self.key))}) DO UPDATE SET"
            f" {', '.join(f'{name} = {self._updated(name)}' for name in others)}"
        )

    def _updated(self, name: str) -> str:
        if name not in self.kept:
            return f"excluded.{name}"
        is_none = f"excluded.{self.kept[0]} IS NULL"
        return f"CASE WHEN {is_none} THEN {self.name}.{name} ELSE excluded.{name} END"


ACCOUNTS = Table("account", (*ACCOUNT, *AccountRecord.__struct_fields__[1:]))
TOKENS = Table("token", TOKEN, ("id",))
ENTRIES = Table(
    "entry",
    (*ENTRY, "revision", *ORIGIN),
    ("guid",),
    kept=ORIGIN,
    stamps=("revision", *_STATE_STAMPS),
)
FORMER_ENTRIES = Table(
    "former_entry", (*STATE, "ended"), ("ended", "guid"), stamps=("ended", *_STATE_STAMPS)
)
DELETIONS = Table("deletion", Deletion.__struct_fields__, ("id",), stamps=("id",))
LABELS = Table("feed_label", FeedLabel.__struct_fields__, ("guid",))
ACTIONS = Table("episode_action", ACTION, ("podcast_guid", "key"), stamps=("revision", "received"))
DOCUMENTS = Table("document", Document.__struct_fields__, ("kind", "name"))

OF_THE_LIST = (ENTRIES, FORMER_ENTRIES, DELETIONS)
"""Tables with stamps of the list's clock; `ACTIONS` has stamps of the other clock."""

TABLES = (ACCOUNTS, TOKENS, ENTRIES, FORMER_ENTRIES, LABELS, DELETIONS, ACTIONS, DOCUMENTS)
"""All tables that are copied to another store; referenced tables come first.

Feed data is not copied, as it is fetched again; nor are failed login attempts, which expire within
an hour.
"""
