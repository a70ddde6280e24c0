"""Changing entries in SQLite: loading them for changes of an account, and saving these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import apsw
from msgspec.structs import astuple

from feedkeep.model import (
    AccountId,
    Counts,
    DocumentName,
    DocumentSelector,
    Entry,
    EntryState,
    Guid,
    KnownDocument,
    Stamp,
    Value,
)
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.base import MAX_DELETIONS, MAX_FORMER_STATES
from feedkeep.store.overlay import Overlay
from feedkeep.store.portable.documents import known_documents, save_document
from feedkeep.store.portable.history import DROP
from feedkeep.store.portable.tokens import save_progress
from feedkeep.store.rows import FEW_ROWS
from feedkeep.store.sql import AND_NOT_DELETED, for_sqlite, sqlite_form
from feedkeep.store.sqlite.driver import SqliteStatements, done
from feedkeep.store.sqlite.rows import ROWS, insert_into, to_bytes, update
from feedkeep.store.tables import (
    COUNTS,
    DELETIONS,
    ENTRIES,
    ENTRY,
    FORMER_ENTRIES,
    ORIGIN,
    STATE,
    WEIGHT_OF_STATE,
    columns,
)

_AT_ONCE = 20
"""Number of entries between pauses for other tasks."""

_NAMED_AT_ONCE = 100
"""Number of guids that a statement looks up, within 30 microseconds if it finds nothing."""

_ENTRY = columns(ENTRY)

_ACCOUNT = for_sqlite(f"""
SELECT a.last_stamp, {columns(COUNTS, "a")}, a.known_from, a.former_count FROM feedkeep.account a
WHERE a.account_id = $1 {AND_NOT_DELETED}
""")
_ADVANCED = ("last_stamp", *COUNTS, "known_from", "former_count")
_ADVANCE = f"""
UPDATE account SET {", ".join(f"{name} = ?" for name in _ADVANCED)} WHERE account_id = ?
"""
# A cross join makes SQLite look up the guids, whatever its estimate of the table's size.
_NAMED = f"""
SELECT {columns(ENTRY, "e")} FROM carray(?) named
CROSS JOIN entry e ON e.account_id = ? AND e.guid = named.value
"""
_POINTERS = f"""
SELECT {columns(ENTRY, "e")} FROM carray(?) named
CROSS JOIN entry e ON e.account_id = ? AND e.new_guid = named.value
"""
_ALL = f"SELECT {_ENTRY} FROM entry WHERE account_id = ?"
_STATES = f"""
SELECT {columns(STATE)}, NULL FROM entry WHERE account_id = ?1
UNION ALL SELECT {columns(STATE)}, ended FROM former_entry WHERE account_id = ?1 AND ended >= ?2
"""
_KEEP = f"""
INSERT INTO former_entry (account_id, {columns(FORMER_ENTRIES.columns)})
SELECT account_id, {columns(STATE)}, ?3 FROM entry WHERE account_id = ?1 AND guid = ?2
"""
_KEEP_RESTAMPED = f"""
INSERT INTO former_entry (account_id, {columns(FORMER_ENTRIES.columns)})
SELECT ?1, {", ".join(f"?{place}" for place in range(2, len(ENTRY) + 2))}, {columns(ORIGIN)},
?{len(ENTRY) + 2} FROM entry WHERE account_id = ?1 AND guid = ?2
"""
_KEEP_MADE = insert_into(FORMER_ENTRIES)
# Each row weighs at least one, so reading as many rows as the weight to drop suffices.
_LAST_TO_GO = f"""
SELECT ended FROM (
    SELECT ended, sum(weight) OVER (ORDER BY ended) AS weight FROM (
        SELECT ended, {WEIGHT_OF_STATE} AS weight FROM former_entry
        WHERE account_id = ?1 ORDER BY ended LIMIT ?2
    )
) WHERE weight >= ?2 ORDER BY ended LIMIT 1
"""
# Loading already tells which entries are new; an upsert would check again, and take longer.
_ADD = insert_into(ENTRIES)
_CHANGE = update(ENTRIES)
_RESTAMP = update(ENTRIES, kept=ORIGIN)
_FORGET = "DELETE FROM entry WHERE account_id = ? AND guid = ?"
_REMEMBER_DELETION = insert_into(DELETIONS)
_FORGET_DELETIONS = """
DELETE FROM deletion WHERE account_id = ?1 AND id <= (
    SELECT id FROM deletion WHERE account_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2
)
"""


def load(
    connection: apsw.Connection, account_id: AccountId, guids: Sequence[Guid] | None
) -> Yielding[dict[Guid, Entry]]:
    """Return the entries of `guids`, the subscriptions they resolve to, and all pointers to these.

    Returns all entries of the account if `guids` is None.
    """
    if guids is None:
        return _every_entry(connection, account_id)
    return _named(connection, account_id, guids)


def _every_entry(connection: apsw.Connection, account_id: AccountId) -> Yielding[dict[Guid, Entry]]:
    entries: dict[Guid, Entry] = {}
    for number, row in enumerate(connection.execute(_ALL, (account_id,)), 1):
        entry = ROWS.entry_of(row)
        entries[entry.guid] = entry
        if number % _AT_ONCE == 0:
            yield None
    return entries


def _named(
    connection: apsw.Connection, account_id: AccountId, guids: Sequence[Guid]
) -> Yielding[dict[Guid, Entry]]:
    entries: dict[Guid, Entry] = {}
    yield from _look_up(connection, _NAMED, account_id, guids, entries)
    targets = {target_guid(entry) for entry in entries.values()}
    yield from _look_up(connection, _NAMED, account_id, targets - entries.keys(), entries)
    yield from _look_up(connection, _POINTERS, account_id, targets, entries)
    return entries


def _look_up(
    connection: apsw.Connection,
    statement: str,
    account_id: AccountId,
    guids: Collection[Guid],
    entries: dict[Guid, Entry],
) -> Yielding[None]:
    names = [to_bytes(guid) for guid in guids]
    for start in range(0, len(names), _NAMED_AT_ONCE):
        if start:
            yield None
        some = apsw.carray(tuple(names[start : start + _NAMED_AT_ONCE]))
        for number, row in enumerate(connection.execute(statement, (some, account_id)), 1):
            entry = ROWS.entry_of(row)
            entries[entry.guid] = entry
            if number % _AT_ONCE == 0:  # a thousand pointers may resolve to one guid
                yield None


def states(
    connection: apsw.Connection, account_id: AccountId, history_from: Stamp
) -> Yielding[list[EntryState]]:
    """Return all present states of an account's entries, and states that ended since a stamp."""
    found: list[EntryState] = []
    for number, row in enumerate(connection.execute(_STATES, (account_id, history_from)), 1):
        found.append(ROWS.state_of(row))
        if number % _AT_ONCE == 0:
            yield None
    return found


class Version(Value, frozen=True):
    """The parts of an account that differ after each change of its list or of these documents.

    Each change of its entries advances its clock; deleting history advances `known_from`.

    Attributes:
        known_from: Stamp from which every state of the list is stored.
        former_count: Sum of the weights of the stored former states.
    """

    last_stamp: Stamp
    counts: Counts
    known_from: Stamp
    former_count: int
    documents: Mapping[DocumentName, KnownDocument]


def version(
    connection: apsw.Connection, account_id: AccountId, documents: Sequence[DocumentSelector]
) -> Version:
    """Return the stored version of an account.

    Raises:
        NotAuthorized: The account is deleted.
    """
    account = connection.execute(_ACCOUNT, (account_id,)).get
    if account is None:
        raise NotAuthorized
    last_stamp, *counts, known_from, former_count = account
    known = done(known_documents(SqliteStatements(connection), account_id, documents))
    return Version(last_stamp, Counts(*counts), known_from, former_count, known)


class Loaded(Value, frozen=True):
    """The stored data on which changes of an account are decided.

    Attributes:
        overlay: It has the changes so far on top.
        version: As it is stored.
        stored: The guids of the loaded entries, as they are stored.
    """

    overlay: Overlay
    version: Version
    stored: Collection[Guid]


def loaded(
    connection: apsw.Connection,
    account_id: AccountId,
    guids: Sequence[Guid] | None,
    documents: Sequence[DocumentSelector] = (),
    history_from: Stamp | None = None,
) -> Yielding[Loaded]:
    """Return the data for changes; for the arguments see `Entries.change`.

    Raises:
        NotAuthorized: The account is deleted.
    """
    found = version(connection, account_id, documents)
    kept: Sequence[EntryState] = ()
    if history_from is None:
        entries = yield from load(connection, account_id, guids)
    else:
        kept = yield from states(connection, account_id, history_from)
        entries = {state.entry.guid: state.entry for state in kept if state.ended is None}

    def make() -> Overlay:
        overlay = Overlay(
            account_id,
            found.last_stamp,
            found.counts,
            entries.values(),
            known_from=found.known_from,
            former_count=found.former_count,
        )
        overlay.documents |= found.documents
        for state in kept:
            overlay.load_state(state)
        return overlay

    overlay = make() if len(entries) + len(kept) <= FEW_ROWS else (yield make)
    return Loaded(overlay, found, entries.keys())


def rows_of(connection: apsw.Connection, account_id: AccountId) -> int:
    """Return the weight of all rows that a change of a whole account may load, with its history.

    Raises:
        NotAuthorized: The account is deleted.
    """
    found = version(connection, account_id, ())
    return found.counts.entries + found.former_count


def save(connection: apsw.Connection, loaded: Loaded) -> Yielding[None]:
    """Save the changes of an account; yields so that other tasks can run."""
    overlay = loaded.overlay
    account_id, statements = overlay.account_id, SqliteStatements(connection)
    for document in overlay.saved_documents.values():
        done(save_document(statements, account_id, document))
    for progress in overlay.token_progress.values():
        done(save_progress(statements, account_id, progress))
    if not overlay.saved and not overlay.forgotten:
        return
    yield from _write(connection, _ended_rows(overlay))
    if overlay.former_count > MAX_FORMER_STATES:
        yield from _make_room(connection, overlay)
    yield from _write(connection, _saved_rows(overlay, loaded.stored))
    yield from _write(
        connection, ((_FORGET, (account_id, to_bytes(guid))) for guid in overlay.forgotten)
    )
    if overlay.deletions:
        rows = [(account_id, *ROWS.deletion_row(deletion)) for deletion in overlay.deletions]
        connection.executemany(_REMEMBER_DELETION, rows)
        connection.execute(_FORGET_DELETIONS, (account_id, MAX_DELETIONS))
    counts = astuple(overlay.counts)
    advanced = (overlay.last_stamp, *counts, overlay.known_from, overlay.former_count)
    connection.execute(_ADVANCE, (*advanced, account_id))


def _write(
    connection: apsw.Connection, rows: Iterable[tuple[str, tuple[Any, ...]]]
) -> Yielding[None]:
    """Execute statements with their rows, some at once."""
    waiting = iter(rows)
    while some := list(islice(waiting, _AT_ONCE)):
        by_statement: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for statement, row in some:
            by_statement[statement].append(row)
        for statement, of_it in by_statement.items():
            connection.executemany(statement, of_it)
        if len(some) == _AT_ONCE:
            yield None


def _ended_rows(overlay: Overlay) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Return the former states to keep, while the entries are stored as they were."""
    account_id = overlay.account_id
    for state in overlay.stored_ended:
        yield _KEEP, (account_id, to_bytes(state.entry.guid), state.ended)
    for state in overlay.restamped_ended:
        yield _KEEP_RESTAMPED, (account_id, *ROWS.entry_row(state.entry)[:-1], state.ended)
    for state in overlay.made_and_ended:
        yield _KEEP_MADE, (account_id, *ROWS.former_state_row(state))


def _saved_rows(
    overlay: Overlay, stored: Collection[Guid]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for guid, entry in overlay.saved.items():
        row = (overlay.account_id, *ROWS.entry_row(entry))
        origin = overlay.origins.get(guid)
        if origin is None:
            yield _RESTAMP, row
        else:
            yield _CHANGE if guid in stored else _ADD, (*row, origin.began, origin.author)


def drop_states(
    connection: apsw.Connection, account_id: AccountId, until: Stamp, max_states: int
) -> list[int]:
    """Delete up to `max_states` former states that ended by a stamp; return their weights."""
    return [
        row[0] for row in connection.execute(sqlite_form(DROP), (account_id, until, max_states))
    ]


def _make_room(connection: apsw.Connection, overlay: Overlay) -> Yielding[None]:
    """Delete the former states that the oldest changes ended, down to the maximum weight."""
    account_id, too_many = overlay.account_id, overlay.former_count - MAX_FORMER_STATES
    until: Stamp = connection.execute(_LAST_TO_GO, (account_id, too_many)).get
    while some := drop_states(connection, account_id, until, _AT_ONCE):
        overlay.former_count -= sum(some)
        yield None
    overlay.known_from = max(overlay.known_from, until)
