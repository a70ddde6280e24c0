"""Changing entries in SQLite: loading them for a rule, and saving its decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import apsw
from msgspec.structs import astuple

from feedkeep.model import (
    AccountId,
    Counts,
    Decision,
    DocumentSelector,
    Entry,
    EntryState,
    Guid,
    History,
    Snapshot,
    Stamp,
    T,
    Value,
)
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import NotAuthorized
from feedkeep.model.weights import weight_of_entry
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.base import MAX_DELETIONS, MAX_FORMER_STATES
from feedkeep.store.portable.documents import known_documents, save_document
from feedkeep.store.portable.history import DROP
from feedkeep.store.portable.tokens import save_progress
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


def _present(kept: Sequence[EntryState]) -> dict[Guid, Entry]:
    return {state.entry.guid: state.entry for state in kept if state.ended is None}


class Loaded(Value, frozen=True):
    """The stored data on which a change is decided.

    Attributes:
        known_from: Stamp from which every state of the list is stored.
        former_count: Sum of the weights of the stored former states.
    """

    snapshot: Snapshot
    known_from: Stamp
    former_count: int

    @property
    def rows(self) -> int:
        history = self.snapshot.history
        return len(self.snapshot.entries) + (len(history.states) if history else 0)


def loaded(
    connection: apsw.Connection,
    account_id: AccountId,
    guids: Sequence[Guid] | None,
    now: Stamp,
    documents: Sequence[DocumentSelector] = (),
    history_from: Stamp | None = None,
) -> Yielding[Loaded]:
    """Return the data for a change; the arguments are those of `Entries.change`.

    Raises:
        NotAuthorized: The account is deleted.
    """
    kept = None
    if history_from is not None:
        kept = yield from states(connection, account_id, history_from)
    if guids is None and kept is not None:
        entries = yield partial(_present, kept)
    else:
        entries = yield from load(connection, account_id, guids)
    last_stamp, counts, known_from, former_count = _account(connection, account_id)
    statements = SqliteStatements(connection)
    known = done(known_documents(statements, account_id, documents))
    history = None if kept is None else History(kept, known_from)
    snapshot = Snapshot(entries, last_stamp, now, counts, known, history)
    return Loaded(snapshot, known_from, former_count)


def rows_of(connection: apsw.Connection, account_id: AccountId) -> int:
    """Return the weight of all rows that a change of a whole account may load, with its history.

    Raises:
        NotAuthorized: The account is deleted.
    """
    _, counts, _, former_count = _account(connection, account_id)
    return counts.entries + former_count


def is_as_loaded(
    connection: apsw.Connection,
    account_id: AccountId,
    documents: Sequence[DocumentSelector],
    before: Loaded,
) -> bool:
    """Whether the account's data on which a change was decided is unchanged since.

    Each change of its entries advances its clock; deleting history advances `known_from`.

    Raises:
        NotAuthorized: The account is deleted.
    """
    snapshot = before.snapshot
    statements = SqliteStatements(connection)
    was = (snapshot.last_stamp, snapshot.counts, before.known_from, before.former_count)
    return (
        _account(connection, account_id) == was
        and done(known_documents(statements, account_id, documents)) == snapshot.documents
    )


def _account(
    connection: apsw.Connection, account_id: AccountId
) -> tuple[Stamp, Counts, Stamp, int]:
    account = connection.execute(_ACCOUNT, (account_id,)).get
    if account is None:
        raise NotAuthorized
    last_stamp, *counts, known_from, former_count = account
    return last_stamp, Counts(*counts), known_from, former_count


def save(
    connection: apsw.Connection,
    account_id: AccountId,
    decision: Decision[T],
    author: str | None,
    before: Loaded,
) -> Yielding[None]:
    """Save a decision; yields so that other tasks can run."""
    statements = SqliteStatements(connection)
    for document in decision.documents:
        done(save_document(statements, account_id, document))
    if decision.token_progress:
        done(save_progress(statements, account_id, decision.token_progress))
    if not decision.saved and not decision.forgotten:
        return
    known_from, former_count = before.known_from, before.former_count
    if author is None:
        known_from = max(known_from, decision.stamp)
    elif decision.ended:
        former_count += yield from _keep(connection, account_id, decision, before.snapshot.entries)
        if former_count > MAX_FORMER_STATES:
            until, dropped = yield from _make_room(connection, account_id, former_count)
            known_from, former_count = max(known_from, until), former_count - dropped
    yield from _write(connection, account_id, decision, author, before.snapshot.entries)
    for start in range(0, len(decision.forgotten), _AT_ONCE):
        forgotten = decision.forgotten[start : start + _AT_ONCE]
        connection.executemany(_FORGET, [(account_id, to_bytes(guid)) for guid in forgotten])
        yield None
    if decision.deletion:
        remembered = (account_id, *ROWS.deletion_row(decision.deletion))
        connection.execute(_REMEMBER_DELETION, remembered)
        connection.execute(_FORGET_DELETIONS, (account_id, MAX_DELETIONS))
    counts = astuple(decision.counts)
    advanced = (decision.last_stamp, *counts, known_from, former_count)
    connection.execute(_ADVANCE, (*advanced, account_id))


def _write(
    connection: apsw.Connection,
    account_id: AccountId,
    decision: Decision[T],
    author: str | None,
    there: Collection[Guid],
) -> Yielding[None]:
    """Write the entries that a decision saves; entries of `there` already have a row."""
    origin = (decision.stamp, author)
    for start in range(0, len(decision.saved), _AT_ONCE):
        if start:
            yield None
        added, changed, restamped = [], [], []
        for entry in decision.saved[start : start + _AT_ONCE]:
            row = (account_id, *ROWS.entry_row(entry))
            if entry.guid in decision.restamped:
                restamped.append(row)
            elif entry.guid in there:
                changed.append((*row, *origin))
            else:
                added.append((*row, *origin))
        for statement, rows in ((_RESTAMP, restamped), (_CHANGE, changed), (_ADD, added)):
            if rows:
                connection.executemany(statement, rows)


def drop_states(
    connection: apsw.Connection, account_id: AccountId, until: Stamp, max_states: int
) -> list[int]:
    """Delete up to `max_states` former states that ended by a stamp; return their weights."""
    return [
        row[0] for row in connection.execute(sqlite_form(DROP), (account_id, until, max_states))
    ]


def _keep(
    connection: apsw.Connection,
    account_id: AccountId,
    decision: Decision[T],
    there: Mapping[Guid, Entry],
) -> Yielding[int]:
    """Keep the states that a decision ends, as they are stored; return their weight."""
    weight = 0
    for start in range(0, len(decision.ended), _AT_ONCE):
        if start:
            yield None
        guids = decision.ended[start : start + _AT_ONCE]
        rows = [(account_id, to_bytes(guid), decision.stamp) for guid in guids]
        connection.executemany(_KEEP, rows)
        weight += sum(weight_of_entry(there[guid]) for guid in guids)
    return weight


def _make_room(
    connection: apsw.Connection, account_id: AccountId, former_count: int
) -> Yielding[tuple[Stamp, int]]:
    """Delete the former states that the oldest changes ended, down to the maximum weight.

    Returns the stamp of the last of these changes, and the weight of the deleted states.
    """
    too_many = former_count - MAX_FORMER_STATES
    until: Stamp = connection.execute(_LAST_TO_GO, (account_id, too_many)).get
    dropped = 0
    while some := drop_states(connection, account_id, until, _AT_ONCE):
        dropped += sum(some)
        yield None
    return until, dropped
