"""Changing entries in SQLite: what is loaded for a rule, and saving what it decided."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
from msgspec.structs import astuple

from feedkeep.errors import NotAuthorized
from feedkeep.model import (
    AccountId,
    Counts,
    Decision,
    DocumentName,
    Entry,
    Guid,
    Pointer,
    Snapshot,
    Stamp,
    T,
)
from feedkeep.store.base import MAX_DELETIONS
from feedkeep.store.sqlite.documents import known_document, save_document
from feedkeep.store.sqlite.rows import ROWS, insert_into, to_bytes
from feedkeep.store.sqlite.tokens import save_progress
from feedkeep.store.tables import COUNTS, DELETIONS, ENTRIES, ENTRY, columns
from feedkeep.turns import Turns

_AT_ONCE = 20
"""After how many entries other tasks may run."""

_ENTRY = columns(ENTRY)

_ACCOUNT = f"SELECT last_stamp, {columns(COUNTS)} FROM account WHERE id = ?"
_ADVANCE = f"""
UPDATE account SET last_stamp = ?, {", ".join(f"{name} = ?" for name in COUNTS)} WHERE id = ?
"""
_ONE = f"SELECT {_ENTRY} FROM entry WHERE account_id = ? AND guid = ?"
_POINTERS = f"SELECT {_ENTRY} FROM entry WHERE account_id = ? AND new_guid = ?"
_ALL = f"SELECT {_ENTRY} FROM entry WHERE account_id = ?"
_SAVE = f"{insert_into(ENTRIES)} {ENTRIES.or_update}"
_FORGET = "DELETE FROM entry WHERE account_id = ? AND guid = ?"
_REMEMBER_DELETION = insert_into(DELETIONS)
_FORGET_DELETIONS = """
DELETE FROM deletion WHERE account_id = ?1 AND id <= (
    SELECT id FROM deletion WHERE account_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2
)
"""


def load(
    connection: apsw.Connection, account_id: AccountId, guids: Sequence[Guid] | None
) -> Turns[dict[Guid, Entry]]:
    """Return the entries of `guids`, the subscriptions they lead to, and all pointers to these.

    All entries of the account if `guids` is None.
    """
    if guids is None:
        return _every_entry(connection, account_id)
    return _named(connection, account_id, guids)


def _every_entry(connection: apsw.Connection, account_id: AccountId) -> Turns[dict[Guid, Entry]]:
    entries: dict[Guid, Entry] = {}
    for number, row in enumerate(connection.execute(_ALL, (account_id,))):
        entry = ROWS.entry_of(row)
        entries[entry.guid] = entry
        if number % _AT_ONCE == 0:
            yield None
    return entries


def _named(
    connection: apsw.Connection, account_id: AccountId, guids: Sequence[Guid]
) -> Turns[dict[Guid, Entry]]:
    entries: dict[Guid, Entry] = {}
    for number, guid in enumerate(guids):
        for row in connection.execute(_ONE, (account_id, to_bytes(guid))):
            entries[guid] = ROWS.entry_of(row)
        if number % _AT_ONCE == 0:
            yield None
    led_to = {e.new_guid if isinstance(e, Pointer) else e.guid for e in entries.values()}
    for number, guid in enumerate(led_to):
        key = (account_id, to_bytes(guid))
        for row in connection.execute(_POINTERS, key):
            pointer = ROWS.entry_of(row)
            entries[pointer.guid] = pointer
        if guid not in entries:
            entries.update((guid, ROWS.entry_of(row)) for row in connection.execute(_ONE, key))
        if number % _AT_ONCE == 0:
            yield None
    return entries


def snapshot(
    connection: apsw.Connection,
    account_id: AccountId,
    entries: dict[Guid, Entry],
    now: Stamp,
    documents: Sequence[DocumentName] = (),
) -> Snapshot:
    """Return what a rule is given.

    Raises:
        NotAuthorized: The account is gone.
    """
    account = connection.execute(_ACCOUNT, (account_id,)).get
    if account is None:
        raise NotAuthorized
    last_stamp, *counts = account
    known = {name: known_document(connection, account_id, name) for name in documents}
    return Snapshot(entries, last_stamp, now, Counts(*counts), known)


def save(connection: apsw.Connection, account_id: AccountId, decision: Decision[T]) -> Turns[None]:
    """Save a decision; yields so that other tasks can run in between."""
    for document in decision.documents:
        save_document(connection, account_id, document)
    if decision.token_progress:
        save_progress(connection, account_id, decision.token_progress)
    if not decision.saved and not decision.forgotten:
        return
    for start in range(0, len(decision.saved), _AT_ONCE):
        chunk = decision.saved[start : start + _AT_ONCE]
        connection.executemany(_SAVE, [(account_id, *ROWS.entry_row(entry)) for entry in chunk])
        yield None
    for start in range(0, len(decision.forgotten), _AT_ONCE):
        forgotten = decision.forgotten[start : start + _AT_ONCE]
        connection.executemany(_FORGET, [(account_id, to_bytes(guid)) for guid in forgotten])
        yield None
    if decision.deletion:
        remembered = (account_id, *ROWS.deletion_row(decision.deletion))
        connection.execute(_REMEMBER_DELETION, remembered)
        connection.execute(_FORGET_DELETIONS, (account_id, MAX_DELETIONS))
    connection.execute(_ADVANCE, (decision.last_stamp, *astuple(decision.counts), account_id))
