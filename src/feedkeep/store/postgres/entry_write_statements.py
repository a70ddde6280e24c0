"""The statements by which entries are changed, in the shape that the database needs."""

from __future__ import annotations

from feedkeep.model import Clock, Guid, Stamp
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
"""Reads all present states of an account's entries, and those that ended since a stamp."""

# Of rows that each weigh at least one, no more than the weight to drop have to be read.
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
"""The types of columns, by those of fields; a field of another type is an error."""

CLOCK = ("last_stamp", "known_from", "former_count", *COUNTS)
"""What a change reads of the account's row, and writes."""

_ADVANCED = dict.fromkeys(CLOCK, "bigint")
_SAVED_DOCUMENT = dict.fromkeys(DOCUMENTS.columns, "text")
_SAVED = {name: SQL_TYPES[TYPES[name]] for name in ENTRIES.columns}
_FORMER = {name: SQL_TYPES[TYPES[name]] for name in FORMER_ENTRIES.columns}
_RESTAMPED = {name: kind for name, kind in _FORMER.items() if name not in ORIGIN}


class ChangeStatements:
    """What a batch of changes executes; each statement is about rows of many accounts.

    Attributes:
        lock: Locks accounts.
        lock_what_is_free: Does so with those that nobody else has locked.
        advance: Writes an account's last stamp, and what is counted of it.
        load: Reads accounts, the subscriptions that entries lead to, and all pointers to these, up
            to so many. A row is of an account or of an entry, and empty in the other's columns.
        save: Writes entries.
        forget: Deletes entries.
        keep_stored: Copies entries as they are stored to the former states.
        keep_restamped: Copies those that are given, with what is stored of where they came from.
        keep_made: Writes former states.
        remember_deletion: Writes deletions.
        forget_deletions: Deletes an account's oldest deletions.
        load_documents: Reads documents by kind and name, or all of a kind, and the weight of these.
        save_documents: Writes documents.
        save_progress: Writes how far a token's app has come, by clock.
        may_find_none: The statements that may change fewer rows than they are given.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._of_accounts()
        self._of_entries()
        self._of_former_states()
        self._of_deletions()
        self._of_documents()
        self._of_progress()
        # What is to be forgotten may never have been stored, and a token may be gone.
        self.may_find_none = {self.forget, self.forget_deletions, *self.save_progress.values()}

    def _of_accounts(self) -> None:
        # In id order, so that no two transactions wait for each other: that would be a deadlock. In
        # a statement of its own, so that the next one sees what the last holder has committed: the
        # snapshot of a statement is taken before it waits for a lock.
        self.lock = """
            SELECT a.account_id FROM feedkeep.account a
            WHERE a.account_id = ANY($1::bigint[]) ORDER BY a.account_id FOR NO KEY UPDATE
        """
        self.lock_what_is_free = f"{self.lock} SKIP LOCKED"
        self.advance = f"""
            UPDATE feedkeep.account a SET {", ".join(f"{name} = w.{name}" for name in _ADVANCED)}
            FROM {self._shape.wanted(**_ADVANCED)} WHERE {self._shape.same("a")}
        """

    def _of_entries(self) -> None:
        same, wanted = self._shape.same, self._shape.wanted
        # All pointers are loaded, although nobody named them: the next change of the batch may name
        # one, and is given what is loaded here, without another query.
        no_clock = ", ".join("NULL::bigint" for _ in CLOCK)
        no_entry = ", ".join(f"NULL::{SQL_TYPES[TYPES[name]]}" for name in ENTRY)
        self.load = f"""
            SELECT a.account_id, {columns(CLOCK, "a")}, {no_entry} FROM feedkeep.account a
            WHERE a.account_id = ANY($1::bigint[])
            UNION ALL (
                WITH t AS (
                    SELECT DISTINCT e.account_id, coalesce(e.new_guid, e.guid) AS guid
                    FROM {wanted(guid="uuid")}
                    JOIN feedkeep.entry e ON {same("e")} AND e.guid = w.guid
                )
                SELECT s.account_id, {no_clock}, {columns(ENTRY, "s")}
                FROM t JOIN feedkeep.entry s ON {same("s", "t")} AND s.guid = t.guid
                UNION ALL
                SELECT p.account_id, {no_clock}, {columns(ENTRY, "p")}
                FROM t JOIN feedkeep.entry p ON {same("p", "t")} AND p.new_guid = t.guid
                LIMIT $3
            )
        """
        self.save = f"""
            INSERT INTO feedkeep.entry (account_id, {columns(ENTRIES.columns)})
            {self._shape.selected(**_SAVED)}
            {ENTRIES.or_update}
        """
        self.forget = f"""
            DELETE FROM feedkeep.entry e USING {wanted(guid="uuid")}
            WHERE {same("e")} AND e.guid = w.guid
        """

    def _of_former_states(self) -> None:
        same, wanted = self._shape.same, self._shape.wanted
        insert = (
            f"INSERT INTO feedkeep.former_entry (account_id, {columns(FORMER_ENTRIES.columns)})"
        )
        self.keep_stored = f"""
            {insert}
            SELECT e.account_id, {columns(STATE, "e")}, w.ended
            FROM {wanted(guid="uuid", ended="bigint")}
            JOIN feedkeep.entry e ON {same("e")} AND e.guid = w.guid
        """
        self.keep_restamped = f"""
            {insert}
            SELECT e.account_id, {columns(ENTRY, "w")}, {columns(ORIGIN, "e")}, w.ended
            FROM {wanted(**_RESTAMPED)}
            JOIN feedkeep.entry e ON {same("e")} AND e.guid = w.guid
        """
        self.keep_made = f"{insert} {self._shape.selected(**_FORMER)}"

    def _of_deletions(self) -> None:
        same, wanted = self._shape.same, self._shape.wanted
        self.remember_deletion = f"""
            INSERT INTO feedkeep.deletion (account_id, {columns(DELETIONS.columns)})
            {self._shape.selected(id="bigint", guid="uuid")}
        """
        self.forget_deletions = f"""
            DELETE FROM feedkeep.deletion d USING {wanted(max_stored="bigint")}
            WHERE {same("d")} AND d.id <= (
                SELECT o.id FROM feedkeep.deletion o
                WHERE {same("o")} ORDER BY o.id DESC LIMIT 1 OFFSET w.max_stored
            )
        """

    def _of_documents(self) -> None:
        same, named = self._shape.same, self._shape.wanted(kind="text", name="text")
        self.load_documents = f"""
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
        self.save_documents = f"""
            INSERT INTO feedkeep.document (account_id, {columns(DOCUMENTS.columns)})
            {self._shape.selected(**_SAVED_DOCUMENT)}
            {DOCUMENTS.or_update}
        """

    def _of_progress(self) -> None:
        progress = self._shape.wanted(
            id="bigint", last_sent="bigint", acknowledged="bigint", own="text"
        )
        self.save_progress = {
            clock: f"""
            UPDATE feedkeep.token t SET
                last_sent_{clock.value} = w.last_sent,
                acknowledged_{clock.value} =
                    greatest(t.acknowledged_{clock.value}, w.acknowledged),
                own_{clock.value} = w.own
            FROM {progress} WHERE {self._shape.same("t")} AND t.id = w.id
            """
            for clock in Clock
        }
