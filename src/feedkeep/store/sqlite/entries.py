"""Entries in SQLite: load what guids name, save what was decided, read one, list what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import apsw
from msgspec.structs import astuple

from feedkeep import wall_clock
from feedkeep.errors import NotAuthorized
from feedkeep.model import (
    AccountId,
    Counts,
    Decision,
    Deletion,
    Entry,
    Guid,
    Page,
    PageRequest,
    Pointer,
    Snapshot,
    Stamp,
    T,
    View,
)
from feedkeep.store.base import MAX_DELETIONS
from feedkeep.store.rows import COUNTS, ENTRY, SAVED_ENTRY, columns
from feedkeep.store.sqlite.connection import roll_back
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.turns import Turns, at_once

_FEW_READ = 250
_FEW_COUNTED = 10_000
"""How many entries are read, and how many counted, without a thread: within a millisecond."""

FEW_CHANGED = 100
"""How many guids a change may name that is made in one turn."""

_AT_ONCE = 20
"""After how many entries others may have their turn."""

_ENTRY = columns(ENTRY)

_ACCOUNT = f"SELECT last_stamp, {columns(COUNTS)} FROM account WHERE id = ?"
_ADVANCE = f"""
UPDATE account SET last_stamp = ?, {", ".join(f"{name} = ?" for name in COUNTS)} WHERE id = ?
"""
_ONE = f"SELECT {_ENTRY} FROM entry WHERE account_id = ? AND guid = ?"
_POINTERS = f"SELECT {_ENTRY} FROM entry WHERE account_id = ? AND new_guid = ?"
_ALL = f"SELECT {_ENTRY} FROM entry WHERE account_id = ?"
_SAVE = f"""
INSERT INTO entry (account_id, {columns(SAVED_ENTRY)})
VALUES ({", ".join("?" * (len(SAVED_ENTRY) + 1))})
ON CONFLICT (account_id, guid) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in SAVED_ENTRY[1:])}
"""
_FORGET = "DELETE FROM entry WHERE account_id = ? AND guid = ?"
_WITH_SUBSCRIPTION = f"""
SELECT {columns(ENTRY, "e")}, {columns(ENTRY, "s")} FROM entry e
LEFT JOIN entry s ON s.account_id = e.account_id AND s.guid = e.new_guid
"""
_VIEW = f"{_WITH_SUBSCRIPTION} WHERE e.account_id = ? AND e.guid = ?"
_PAGE = f"""{_WITH_SUBSCRIPTION}
WHERE e.account_id = ? AND e.revision > ?
ORDER BY e.revision LIMIT ? OFFSET ?
"""
_IS_ANY_BEFORE = "SELECT EXISTS (SELECT 1 FROM entry WHERE account_id = ? AND revision <= ?)"
_ANNOUNCED = "SELECT announced_count FROM account WHERE id = ?"
_COUNT = """
SELECT count(*) FROM (SELECT 1 FROM entry WHERE account_id = ? AND revision > ? LIMIT ?)
"""
_ALL_OF_THEM = -1
_REMEMBER_DELETION = "INSERT INTO deletion (account_id, id, guid) VALUES (?, ?, ?)"
_FORGET_DELETIONS = """
DELETE FROM deletion WHERE account_id = ?1 AND id <= (
    SELECT id FROM deletion WHERE account_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2
)
"""
_DELETION = "SELECT id, guid FROM deletion WHERE account_id = ? AND id = ?"


def change_few(
    connection: apsw.Connection,
    account_id: AccountId,
    guids: Sequence[Guid],
    decide: Callable[[Snapshot], Decision[T]],
) -> T:
    """Do what `change` does, in one turn."""
    return at_once(change(connection, account_id, guids, decide))


def change(
    connection: apsw.Connection,
    account_id: AccountId,
    guids: Sequence[Guid] | None,
    decide: Callable[[Snapshot], Decision[T]],
) -> Turns[T]:
    """Load, decide, save; the transaction around it is the caller's."""
    if guids is None:
        entries = yield from _every_entry(connection, account_id)
    else:
        entries = yield from _named(connection, account_id, guids)
    decision: Decision[T] = yield partial(decide, _snapshot(connection, account_id, entries))
    yield from _save(connection, account_id, decision)
    return decision.outcome


def whole(connection: apsw.Connection, account_id: AccountId) -> Snapshot:
    """Return all entries of an account."""
    return _snapshot(connection, account_id, at_once(_every_entry(connection, account_id)))


def view(connection: apsw.Connection, account_id: AccountId, guid: Guid) -> View | None:
    """Return one entry with its subscription."""
    row = connection.execute(_VIEW, (account_id, to_bytes(guid))).get
    return ROWS.view_of(row) if row else None


def short_page(
    connection: apsw.Connection, account_id: AccountId, request: PageRequest
) -> Page | None:
    """Return one page of what changed after a stamp, or None if that takes long to read."""
    _, skipped = _start(request)
    if request.per_page + skipped > _FEW_READ:
        return None
    page = _page(connection, account_id, request, most_counted=_FEW_COUNTED)
    return None if page.total == _FEW_COUNTED else page


def page(connection: apsw.Connection, account_id: AccountId, request: PageRequest) -> Page:
    """Return one page of what changed after a stamp, all read at one moment."""
    return _page(connection, account_id, request, most_counted=_ALL_OF_THEM)


def _page(
    connection: apsw.Connection, account_id: AccountId, request: PageRequest, most_counted: int
) -> Page:
    after, skipped = _start(request)
    connection.execute("BEGIN")
    try:
        total = _total(connection, account_id, request.since, most_counted)
        # One more than the page holds tells whether another follows.
        wanted = (account_id, after, request.per_page + 1, skipped)
        views = [ROWS.view_of(row) for row in connection.execute(_PAGE, wanted)]
    finally:
        roll_back(connection)
    return Page(total, views[: request.per_page], has_more=len(views) > request.per_page)


def _total(
    connection: apsw.Connection, account_id: AccountId, since: Stamp, most_counted: int
) -> int:
    """Return how many entries changed after a stamp, or `most_counted` if there are more.

    Who begins at the start is told what is kept with the account: nobody counts all of it.
    """
    if not connection.execute(_IS_ANY_BEFORE, (account_id, since)).get:
        return connection.execute(_ANNOUNCED, (account_id,)).get or 0
    count: int = connection.execute(_COUNT, (account_id, since, most_counted)).get
    return count


def _start(request: PageRequest) -> tuple[Stamp, int]:
    """Return the stamp after which a page is looked for, and how many entries are skipped then."""
    if request.after is not None:
        return request.after, 0
    return request.since, (request.page - 1) * request.per_page


def deletion(
    connection: apsw.Connection, account_id: AccountId, deletion_id: int
) -> Deletion | None:
    """Return the deletion of that id."""
    row = connection.execute(_DELETION, (account_id, deletion_id)).get
    return ROWS.deletion_of(row) if row else None


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
    """Return what `guids` name, the subscriptions that they lead to, and all pointers to these."""
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


def _snapshot(
    connection: apsw.Connection, account_id: AccountId, entries: dict[Guid, Entry]
) -> Snapshot:
    account = connection.execute(_ACCOUNT, (account_id,)).get
    if account is None:
        raise NotAuthorized
    last_stamp, *counts = account
    now = wall_clock.now()
    return Snapshot(entries, last_stamp, now, Counts(*counts))


def _save(connection: apsw.Connection, account_id: AccountId, decision: Decision[T]) -> Turns[None]:
    if not decision.saved and not decision.forgotten:
        return
    for start in range(0, len(decision.saved), _AT_ONCE):
        some = decision.saved[start : start + _AT_ONCE]
        connection.executemany(_SAVE, [(account_id, *ROWS.row_of(entry)) for entry in some])
        yield None
    for start in range(0, len(decision.forgotten), _AT_ONCE):
        forgotten = decision.forgotten[start : start + _AT_ONCE]
        connection.executemany(_FORGET, [(account_id, to_bytes(guid)) for guid in forgotten])
        yield None
    if decision.deletion:
        remembered = (account_id, decision.deletion.id, to_bytes(decision.deletion.guid))
        connection.execute(_REMEMBER_DELETION, remembered)
        connection.execute(_FORGET_DELETIONS, (account_id, MAX_DELETIONS))
    connection.execute(_ADVANCE, (decision.last_stamp, *astuple(decision.counts), account_id))
