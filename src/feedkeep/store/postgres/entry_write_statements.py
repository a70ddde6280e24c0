"""Statements that change entries, in the shape for one server or a cluster."""

from __future__ import annotations

from functools import partial

from feedkeep.model import Clock, Guid, Stamp
from feedkeep.store.postgres.counted import Numbered
from feedkeep.store.postgres.shape import Shape
from feedkeep.store.tables import (
    COUNTS,
    DELETIONS,
    DOCUMENTS,
    ENTRIES,
    ENTRY,
    FORMER_ENTRIES,
    ORIGIN,
    STATE,
    TYPES,
    WEIGHT_OF_DOCUMENT,
    WEIGHT_OF_STATE,
    columns,
)

EVERY_ENTRY = f"SELECT {columns(ENTRY)} FROM feedkeep.entry WHERE account_id = $1"
STATES = f"""
SELECT {columns(STATE, "e")}, NULL::bigint AS ended FROM feedkeep.entry e WHERE e.account_id = $1
UNION ALL
SELECT {columns(STATE, "f")}, f.ended FROM feedkeep.former_entry f
WHERE f.account_id = $1 AND f.ended >= $2
"""
"""Reads all present states of an account's entries, and states that ended since a stamp."""

# Each row weighs at least one, so reading as many rows as the weight to drop suffices.
LAST_TO_GO = f"""
SELECT s.ended FROM (
    SELECT o.ended, sum(o.weight) OVER (ORDER BY o.ended) AS weight FROM (
        SELECT f.ended, {WEIGHT_OF_STATE} AS weight FROM feedkeep.former_entry f
        WHERE f.account_id = $1 ORDER BY f.ended LIMIT $2
    ) o
) s WHERE s.weight >= $2 ORDER BY s.ended LIMIT 1
"""
DROP_UNTIL = f"""
DELETE FROM feedkeep.former_entry f WHERE f.account_id = $1 AND f.ended <= $2
RETURNING {WEIGHT_OF_STATE}
"""

SQL_TYPES = {Guid: "uuid", str: "text", bool: "boolean", int: "bigint", Stamp: "bigint"}
"""Types of columns by types of fields; a field of another type is an error."""

CLOCK = ("last_stamp", "known_from", "former_count", *COUNTS)
"""The columns of the account's row that a change reads and writes."""

_ADVANCED = dict.fromkeys(CLOCK, "bigint")
_SAVED_DOCUMENT = dict.fromkeys(DOCUMENTS.columns, "text")
_PROGRESS = {"id": "bigint", "last_sent": "bigint", "acknowledged": "bigint", "own": "text"}
_SAVED = {name: SQL_TYPES[TYPES[name]] for name in ENTRIES.columns}
_FORMER = {name: SQL_TYPES[TYPES[name]] for name in FORMER_ENTRIES.columns}
_KEEP = f"INSERT INTO feedkeep.former_entry (account_id, {columns(FORMER_ENTRIES.columns)})"
_RESTAMPED = {name: kind for name, kind in _FORMER.items() if name not in ORIGIN}


class ChangeStatements:
    """The statements of a batch of changes; each is about rows of many accounts.

    Methods of statements that write are given the number of the first parameter, so that statements
    can be combined.

    Attributes:
        lock_what_is_free: Locks accounts, and skips accounts that are already locked.
        load: Reads accounts, the subscriptions that entries resolve to, and all pointers to these,
            up to a limit. A row is of an account or of an entry, and null in the other's columns.
        load_documents: Reads documents by kind and name, or all of a kind, and their weight.
        save_progress: Writes the sync progress of a token's app, by clock.
        may_find_none: The statements that may change fewer rows than they are given.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape, self._same = shape, shape.same
        # In id order, to avoid deadlocks. In a separate statement, so that the next one sees what
        # the last holder committed: a statement takes its snapshot before it waits for a lock.
        self.lock = """
            SELECT a.account_id FROM feedkeep.account a
            WHERE a.account_id = ANY($1::bigint[]) ORDER BY a.account_id FOR NO KEY UPDATE
        """
        self.lock_what_is_free = f"{self.lock} SKIP LOCKED"
        self.load = self._load()
        self.load_documents = self._load_documents()
        self.save_progress: dict[Clock, Numbered] = {
            clock: partial(self._save_progress, clock) for clock in Clock
        }
        # Rows to delete may never have been stored, and a token may be deleted.
        self.may_find_none = {self.forget, self.forget_deletions, *self.save_progress.values()}

    def _load(self) -> str:
        # All pointers are loaded, although no change names them: the next change of the batch may
        # name one, and uses this data without another query.
        no_clock = ", ".join("NULL::bigint" for _ in CLOCK)
        no_entry = ", ".join(f"NULL::{SQL_TYPES[TYPES[name]]}" for name in ENTRY)
        return f"""
            SELECT a.account_id, {columns(CLOCK, "a")}, {no_entry} FROM feedkeep.account a
            WHERE a.account_id = ANY($1::bigint[])
            UNION ALL (
                WITH t AS (
                    SELECT DISTINCT e.account_id, coalesce(e.new_guid, e.guid) AS guid
                    FROM {self._shape.wanted(guid="uuid")}
                    JOIN feedkeep.entry e ON {self._same("e")} AND e.guid = w.guid
                )
                SELECT s.account_id, {no_clock}, {columns(ENTRY, "s")}
                FROM t JOIN feedkeep.entry s ON {self._same("s", "t")} AND s.guid = t.guid
                UNION ALL
                SELECT p.account_id, {no_clock}, {columns(ENTRY, "p")}
                FROM t JOIN feedkeep.entry p ON {self._same("p", "t")} AND p.new_guid = t.guid
                LIMIT $3
            )
        """

    def _load_documents(self) -> str:
        same, named = self._same, self._shape.wanted(kind="text", name="text")
        return f"""
            SELECT d.account_id, d.kind, d.name, d.body, NULL::bigint AS weight
            FROM {named}
            JOIN feedkeep.document d
            ON {same("d")} AND d.kind = w.kind AND (w.name IS NULL OR d.name = w.name)
            UNION ALL
            SELECT d.account_id, d.kind, NULL, NULL, sum{WEIGHT_OF_DOCUMENT}
            FROM (SELECT DISTINCT w.account_id, w.kind FROM {named}) k
            JOIN feedkeep.document d ON {same("d", "k")} AND d.kind = k.kind
            GROUP BY d.account_id, d.kind
        """

    def advance(self, first: int) -> str:
        """Write accounts' last stamps and counts."""
        return f"""
            UPDATE feedkeep.account a SET {", ".join(f"{name} = w.{name}" for name in _ADVANCED)}
            FROM {self._shape.wanted(first, **_ADVANCED)} WHERE {self._same("a")}
        """

    def save(self, first: int) -> str:
        return f"""
            INSERT INTO feedkeep.entry (account_id, {columns(ENTRIES.columns)})
            {self._shape.selected(first, **_SAVED)}
            {ENTRIES.or_update}
        """

    def forget(self, first: int) -> str:
        return f"""
            DELETE FROM feedkeep.entry e USING {self._shape.wanted(first, guid="uuid")}
            WHERE {self._same("e")} AND e.guid = w.guid
        """

    def keep_stored(self, first: int) -> str:
        """Copy stored entries to the former states."""
        return f"""
            {_KEEP}
            SELECT e.account_id, {columns(STATE, "e")}, w.ended
            FROM {self._shape.wanted(first, guid="uuid", ended="bigint")}
            JOIN feedkeep.entry e ON {self._same("e")} AND e.guid = w.guid
        """

    def keep_restamped(self, first: int) -> str:
        """Write given states with their stored origins to the former states."""
        return f"""
            {_KEEP}
            SELECT e.account_id, {columns(ENTRY, "w")}, {columns(ORIGIN, "e")}, w.ended
            FROM {self._shape.wanted(first, **_RESTAMPED)}
            JOIN feedkeep.entry e ON {self._same("e")} AND e.guid = w.guid
        """

    def keep_made(self, first: int) -> str:
        return f"{_KEEP} {self._shape.selected(first, **_FORMER)}"

    def remember_deletion(self, first: int) -> str:
        return f"""
            INSERT INTO feedkeep.deletion (account_id, {columns(DELETIONS.columns)})
            {self._shape.selected(first, id="bigint", guid="uuid")}
        """

    def forget_deletions(self, first: int) -> str:
        return f"""
            DELETE FROM feedkeep.deletion d USING {self._shape.wanted(first, max_stored="bigint")}
            WHERE {self._same("d")} AND d.id <= (
                SELECT o.id FROM feedkeep.deletion o
                WHERE {self._same("o")} ORDER BY o.id DESC LIMIT 1 OFFSET w.max_stored
            )
        """

    def save_documents(self, first: int) -> str:
        return f"""
            INSERT INTO feedkeep.document (account_id, {columns(DOCUMENTS.columns)})
            {self._shape.selected(first, **_SAVED_DOCUMENT)}
            {DOCUMENTS.or_update}
        """

    def _save_progress(self, clock: Clock, first: int) -> str:
        return f"""
            UPDATE feedkeep.token t SET
                last_sent_{clock.value} = w.last_sent,
                acknowledged_{clock.value} =
                    greatest(t.acknowledged_{clock.value}, w.acknowledged),
                own_{clock.value} = w.own
            FROM {self._shape.wanted(first, **_PROGRESS)} WHERE {self._same("t")} AND t.id = w.id
        """
