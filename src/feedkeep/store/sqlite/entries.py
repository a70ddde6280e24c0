"""Entries in SQLite: load what guids name, save what was decided, read one, list what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw

from feedkeep.errors import NotAuthorized
from feedkeep.model import (
    AccountId,
    Alias,
    Decision,
    Deletion,
    Entry,
    Guid,
    Page,
    PageRequest,
    Pointer,
    Snapshot,
    Subscription,
    T,
    View,
)
from feedkeep.store.sqlite.connection import roll_back

_COLUMNS = (
    "guid",
    "new_guid",
    "feed_url",
    "is_subscribed",
    "subscription_changed",
    "guid_changed",
    "deleted",
    "alias_url",
    "alias_moved_away",
)
_WIDTH = len(_COLUMNS)
_ENTRY = ", ".join(_COLUMNS)
_BOTH = ", ".join([*(f"e.{name}" for name in _COLUMNS), *(f"s.{name}" for name in _COLUMNS)])

_CLOCK = "SELECT last_stamp FROM account WHERE id = ?"
_ADVANCE = "UPDATE account SET last_stamp = ? WHERE id = ?"
_ONE = f"SELECT {_ENTRY} FROM entry WHERE account_id = ? AND guid = ?"
_POINTERS = f"SELECT {_ENTRY} FROM entry WHERE account_id = ? AND new_guid = ?"
_ALL = f"SELECT {_ENTRY} FROM entry WHERE account_id = ?"
_SAVE = f"""
INSERT INTO entry (account_id, {_ENTRY}, revision)
VALUES ({", ".join("?" * (_WIDTH + 2))})
ON CONFLICT (account_id, guid) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in (*_COLUMNS[1:], "revision"))}
"""
_FORGET = "DELETE FROM entry WHERE account_id = ? AND guid = ?"
_WITH_SUBSCRIPTION = f"""
SELECT {_BOTH} FROM entry e
JOIN entry s ON s.account_id = e.account_id AND s.guid = ifnull(e.new_guid, e.guid)
"""
_VIEW = f"{_WITH_SUBSCRIPTION} WHERE e.account_id = ? AND e.guid = ?"
_PAGE = f"""{_WITH_SUBSCRIPTION}
WHERE e.account_id = ? AND e.revision > ?
ORDER BY e.revision LIMIT ? OFFSET ?
"""
_COUNT = "SELECT count(*) FROM entry WHERE account_id = ? AND revision > ?"
_REMEMBER_DELETION = "INSERT INTO deletion (account_id, id, guid) VALUES (?, ?, ?)"
_DELETION = "SELECT id, guid FROM deletion WHERE account_id = ? AND id = ?"


def change(
    connection: apsw.Connection,
    account_id: AccountId,
    guids: Iterable[Guid],
    decide: Callable[[Snapshot], Decision[T]],
) -> T:
    """Load, decide, save; the transaction around it is the caller's."""
    decision = decide(_load(connection, account_id, guids))
    _save(connection, account_id, decision)
    return decision.outcome


def whole(connection: apsw.Connection, account_id: AccountId) -> Snapshot:
    """Return all entries of an account."""
    rows = connection.execute(_ALL, (account_id,))
    return _snapshot(connection, account_id, map(_entry, rows))


def view(connection: apsw.Connection, account_id: AccountId, guid: Guid) -> View | None:
    """Return one entry with its subscription."""
    row = connection.execute(_VIEW, (account_id, _to_bytes(guid))).get
    return _view(row) if row else None


def page(connection: apsw.Connection, account_id: AccountId, request: PageRequest) -> Page:
    """Return one page of what changed after a stamp, all read at one moment."""
    after, skipped = request.after, 0
    if after is None:
        after, skipped = request.since, (request.page - 1) * request.per_page
    connection.execute("BEGIN")
    try:
        total = connection.execute(_COUNT, (account_id, request.since)).get
        # One more than the page holds tells whether another follows.
        wanted = (account_id, after, request.per_page + 1, skipped)
        views = [_view(row) for row in connection.execute(_PAGE, wanted)]
    finally:
        roll_back(connection)
    return Page(total, views[: request.per_page], has_more=len(views) > request.per_page)


def deletion(
    connection: apsw.Connection, account_id: AccountId, deletion_id: int
) -> Deletion | None:
    """Return the deletion of that id."""
    row = connection.execute(_DELETION, (account_id, deletion_id)).get
    return Deletion(row[0], _to_guid(row[1])) if row else None


def _load(connection: apsw.Connection, account_id: AccountId, guids: Iterable[Guid]) -> Snapshot:
    entries: dict[Guid, Entry] = {}
    for guid in guids:
        for row in connection.execute(_ONE, (account_id, _to_bytes(guid))):
            entries[guid] = _entry(row)
    led_to = {e.new_guid if isinstance(e, Pointer) else e.guid for e in entries.values()}
    for guid in led_to:
        key = (account_id, _to_bytes(guid))
        for row in connection.execute(_POINTERS, key):
            pointer = _entry(row)
            entries[pointer.guid] = pointer
        if guid not in entries:
            entries.update((guid, _entry(row)) for row in connection.execute(_ONE, key))
    return _snapshot(connection, account_id, entries.values())


def _snapshot(
    connection: apsw.Connection, account_id: AccountId, entries: Iterable[Entry]
) -> Snapshot:
    last_stamp = connection.execute(_CLOCK, (account_id,)).get
    if last_stamp is None:
        raise NotAuthorized
    now = time.time_ns() // 1_000
    return Snapshot({entry.guid: entry for entry in entries}, last_stamp, now)


def _save(connection: apsw.Connection, account_id: AccountId, decision: Decision[T]) -> None:
    if not decision.saved and not decision.forgotten:
        return
    connection.executemany(_SAVE, [(account_id, *_row(entry)) for entry in decision.saved])
    connection.executemany(_FORGET, [(account_id, _to_bytes(guid)) for guid in decision.forgotten])
    if decision.deletion:
        remembered = (account_id, decision.deletion.id, _to_bytes(decision.deletion.guid))
        connection.execute(_REMEMBER_DELETION, remembered)
    connection.execute(_ADVANCE, (decision.last_stamp, account_id))


def _to_bytes(guid: Guid) -> bytes:
    return bytes.fromhex(guid.replace("-", ""))


def _to_guid(raw: bytes) -> Guid:
    text = raw.hex()
    return Guid(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


def _row(entry: Entry) -> tuple[Any, ...]:
    """Return the values of `_COLUMNS` and the revision."""
    alias = (entry.alias.url, entry.alias.moved_away) if entry.alias else (None, None)
    guid = _to_bytes(entry.guid)
    if isinstance(entry, Pointer):
        target = _to_bytes(entry.new_guid)
        return (guid, target, None, None, None, entry.guid_changed, None, *alias, entry.revision)
    return (
        guid,
        None,
        entry.feed_url,
        entry.is_subscribed,
        entry.subscription_changed,
        entry.guid_changed,
        entry.deleted,
        *alias,
        entry.revision,
    )


def _entry(row: Sequence[Any]) -> Entry:
    (guid, new_guid, url, is_subscribed, changed, guid_changed, deleted, alias_url, moved) = row
    alias = Alias(alias_url, bool(moved)) if alias_url is not None else None
    if new_guid is not None:
        return Pointer(_to_guid(guid), _to_guid(new_guid), guid_changed, alias)
    return Subscription(
        _to_guid(guid), url, bool(is_subscribed), changed, guid_changed, deleted, alias
    )


def _view(row: Sequence[Any]) -> View:
    entry = _entry(row[:_WIDTH])
    if isinstance(entry, Subscription):
        return View(entry, entry)
    subscription = _entry(row[_WIDTH:])
    assert isinstance(subscription, Subscription)
    return View(entry, subscription)
