"""The kinds of records, with what archives and copies need to know about each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec.structs import astuple

from feedkeep.model import (
    AccountRecord,
    Deletion,
    Document,
    DocumentKind,
    EntryState,
    EpisodeAction,
    FeedLabel,
    Pointer,
    Record,
    Token,
)
from feedkeep.store import tables
from feedkeep.store.rows import (
    Row,
    Rows,
    account_record_of,
    account_record_row,
    token_of,
    token_row,
)
from feedkeep.store.tables import Table, columns

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Kind(Generic[R]):
    """One kind of record.

    Attributes:
        name: Name for messages.
        read: Returns the record of a row, which is the account's id and the table's columns.
        write: Returns a record's columns of the table.
        where: Condition for the rows of this kind; "" if the table has no others.
    """

    name: str
    type: type[R]
    table: Table
    read: Callable[[Rows, Row], R]
    write: Callable[[Rows, R], Row]
    where: str = ""


def every(kind: Kind[Any], schema: str) -> str:
    """Return the statement that reads all records of a kind, in their order."""
    table = kind.table
    return (
        f"SELECT {columns(('account_id', *table.columns))}"  # noqa: S608 - all names are our own
        f" FROM {schema}{table.name} {kind.where}"
        f" ORDER BY {columns(('account_id', *table.key))}"
    )


def kind_of(record: Record) -> Kind[Any]:
    if not isinstance(record, EntryState):
        return _KIND_OF[type(record)]
    if record.ended is not None:
        return _FORMER_STATES
    return _POINTERS if isinstance(record.entry, Pointer) else _SUBSCRIPTIONS


def _present(name: str, where: str) -> Kind[EntryState]:
    return Kind(
        name,
        EntryState,
        tables.ENTRIES,
        lambda rows, row: rows.stored_state_of(row[1:]),
        Rows.stored_state_row,
        where,
    )


_SUBSCRIPTIONS = _present("subscriptions", "WHERE new_guid IS NULL")
_POINTERS = _present("pointers", "WHERE new_guid IS NOT NULL")
_FORMER_STATES = Kind[EntryState](
    "former states",
    EntryState,
    tables.FORMER_ENTRIES,
    lambda rows, row: rows.state_of(row[1:]),
    Rows.former_state_row,
)

KINDS: tuple[Kind[Any], ...] = (
    Kind[AccountRecord](
        "accounts",
        AccountRecord,
        tables.ACCOUNTS,
        lambda _, row: account_record_of(row),
        lambda _, owner: account_record_row(owner),
    ),
    Kind[Token](
        "tokens",
        Token,
        tables.TOKENS,
        lambda _, row: token_of(row[1:]),
        lambda _, token: token_row(token),
    ),
    Kind[Deletion](
        "deletions",
        Deletion,
        tables.DELETIONS,
        lambda rows, row: rows.deletion_of(row[1:]),
        Rows.deletion_row,
    ),
    _SUBSCRIPTIONS,
    _POINTERS,
    _FORMER_STATES,
    Kind[FeedLabel](
        "labels of feeds",
        FeedLabel,
        tables.LABELS,
        lambda rows, row: rows.label_of(row[1:]),
        Rows.label_row,
    ),
    Kind[EpisodeAction](
        "episode actions",
        EpisodeAction,
        tables.ACTIONS,
        lambda rows, row: rows.action_of(row[1:]),
        Rows.action_row,
    ),
    Kind[Document](
        "devices and settings",
        Document,
        tables.DOCUMENTS,
        lambda _, row: Document(DocumentKind(row[1]), *row[2:]),
        lambda _, document: astuple(document),
    ),
)
"""All kinds in the order in which they are copied: referenced records come first."""

_KIND_OF = {kind.type: kind for kind in KINDS}
