"""Changing entries in PostgreSQL: the changes of many requests share a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import asyncpg
from msgspec.structs import astuple

from feedkeep.errors import NotAuthorized
from feedkeep.model import (
    AccountId,
    Clock,
    Counts,
    Decision,
    DocumentName,
    Guid,
    KnownDocument,
    Now,
    Snapshot,
    Stamp,
    Value,
)
from feedkeep.store.base import MAX_DELETIONS
from feedkeep.store.batch import Done, Outcome
from feedkeep.store.overlay import Overlay
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.shape import Shape
from feedkeep.store.postgres.tokens import progress_row
from feedkeep.store.tables import COUNTS, DELETIONS, DOCUMENTS, ENTRIES, ENTRY, columns

_TYPES = {
    "guid": "uuid",
    "new_guid": "uuid",
    "feed_url": "text",
    "is_subscribed": "boolean",
    "alias_url": "text",
    "alias_moved_away": "boolean",
    "app_url": "text",
}
_ADVANCED = dict.fromkeys(("last_stamp", *COUNTS), "bigint")
_SAVED_DOCUMENT = dict.fromkeys(DOCUMENTS.columns, "text")
_SAVED = {name: _TYPES.get(name, "bigint") for name in ENTRIES.columns}

MAX_GUIDS_IN_A_BATCH = 1_000
_GUIDS_AT_ONCE = 1_000
"""How many guids are loaded with one statement; for many more, PostgreSQL reads whole tables."""

_ROWS_AT_ONCE = 500
"""How many rows are written with one statement, so that other tasks can run in between."""

_FEW_CHANGED = 100
"""Up to how many guids a change is decided on the event loop."""

_EVERY_ENTRY = f"SELECT {columns(ENTRY)} FROM feedkeep.entry WHERE account_id = $1"


class Change(Value, frozen=True):
    """A request to change entries: the arguments of `Entries.change`."""

    account_id: AccountId
    guids: Sequence[Guid] | None
    decide: Callable[[Snapshot], Decision[Any]]
    documents: Sequence[DocumentName] = ()

    def weigh(self) -> int:
        """How much of a batch it takes up; a change of a whole account has a batch of its own."""
        return MAX_GUIDS_IN_A_BATCH if self.guids is None else len(self.guids)


class Held(Exception):
    """The account is locked by another transaction, or it is gone: which one is not known yet."""


class Changes:
    """Carries out changes in a transaction, by statements of the shape that the database needs."""

    def __init__(self, shape: Shape, now: Now) -> None:
        self._shape = shape
        self._now = now
        self._write_locks(shape)
        self._write_changes(shape)

    def _write_locks(self, shape: Shape) -> None:
        is_wanted = "= $1" if shape.is_distributed else "= ANY($1::bigint[])"
        # In id order, so that no two transactions wait for each other: that would be a deadlock. In
        # a statement of its own, so that the next one sees what the last holder has committed: the
        # snapshot of a statement is taken before it waits for a lock.
        self._lock = f"""
            SELECT a.account_id, a.last_stamp, {columns(COUNTS, "a")} FROM feedkeep.account a
            WHERE a.account_id {is_wanted} ORDER BY a.account_id FOR NO KEY UPDATE
        """
        self._lock_what_is_free = f"{self._lock} SKIP LOCKED"

    def _write_changes(self, shape: Shape) -> None:
        account, wanted = shape.account, shape.wanted
        same = "$1" if shape.is_distributed else "t.account_id"
        # All pointers are loaded, although nobody named them: the next change of the batch may name
        # one, and is given what is loaded here, without another query.
        self._load = f"""
            WITH t AS (
                SELECT DISTINCT e.account_id, coalesce(e.new_guid, e.guid) AS guid
                FROM {wanted(guid="uuid")}
                JOIN feedkeep.entry e ON e.account_id = {account} AND e.guid = w.guid
            )
            SELECT s.account_id, {columns(ENTRY, "s")}
            FROM t JOIN feedkeep.entry s ON s.account_id = {same} AND s.guid = t.guid
            UNION ALL
            SELECT p.account_id, {columns(ENTRY, "p")}
            FROM t JOIN feedkeep.entry p ON p.account_id = {same} AND p.new_guid = t.guid
        """
        self._save = f"""
            INSERT INTO feedkeep.entry (account_id, {columns(ENTRIES.columns)})
            {shape.selected(**_SAVED)}
            {ENTRIES.or_update}
        """
        self._forget = f"""
            DELETE FROM feedkeep.entry e USING {wanted(guid="uuid")}
            WHERE e.account_id = {account} AND e.guid = w.guid
        """
        self._remember_deletion = f"""
            INSERT INTO feedkeep.deletion (account_id, {columns(DELETIONS.columns)})
            {shape.selected(id="bigint", guid="uuid")}
        """
        self._forget_deletions = f"""
            DELETE FROM feedkeep.deletion d USING {wanted(max_stored="bigint")}
            WHERE d.account_id = {account} AND d.id <= (
                SELECT o.id FROM feedkeep.deletion o
                WHERE o.account_id = {account} ORDER BY o.id DESC LIMIT 1 OFFSET w.max_stored
            )
        """
        self._load_documents = f"""
            SELECT d.account_id, d.kind, d.name, d.body FROM {wanted(kind="text", name="text")}
            JOIN feedkeep.document d
            ON d.account_id = {account} AND d.kind = w.kind AND d.name = w.name
        """
        self._count_documents = f"""
            SELECT d.account_id, d.kind, count(*) FROM {wanted(kind="text")}
            JOIN feedkeep.document d ON d.account_id = {account} AND d.kind = w.kind
            GROUP BY d.account_id, d.kind
        """
        self._save_documents = f"""
            INSERT INTO feedkeep.document (account_id, {columns(DOCUMENTS.columns)})
            {shape.selected(**_SAVED_DOCUMENT)}
            {DOCUMENTS.or_update}
        """
        progress = wanted(id="bigint", told="bigint", heard="bigint", own="text")
        self._save_progress = {
            clock: f"""
            UPDATE feedkeep.token t SET
                told_{clock.value} = w.told,
                heard_{clock.value} = greatest(t.heard_{clock.value}, w.heard),
                own_{clock.value} = w.own
            FROM {progress} WHERE t.account_id = {account} AND t.id = w.id
            """
            for clock in Clock
        }
        self._advance = f"""
            UPDATE feedkeep.account a SET {", ".join(f"{name} = w.{name}" for name in _ADVANCED)}
            FROM {wanted(**_ADVANCED)} WHERE a.account_id = {account}
        """

    async def make(
        self, connection: asyncpg.Connection, changes: Sequence[Change], *, may_wait: bool
    ) -> Sequence[Outcome[Any]]:
        """Lock, load, decide and save; the caller begins and commits the transaction.

        Unless `may_wait`, accounts that are locked are skipped: their outcome is `Held`.
        """
        lock = self._lock if may_wait else self._lock_what_is_free
        overlays = await self._load_all(connection, changes, lock)
        # SKIP LOCKED returns no row for an account that is locked, nor for one that was deleted.
        # Only a second try, which waits for the lock, tells them apart.
        missing = NotAuthorized if may_wait else Held
        outcomes = [
            await _decide(change, overlays[change.account_id], self._now())
            if change.account_id in overlays
            else missing()
            for change in changes
        ]
        await self._save_all(connection, overlays.values())
        return outcomes

    async def _load_all(
        self, connection: asyncpg.Connection, changes: Sequence[Change], lock: str
    ) -> dict[AccountId, Overlay]:
        account_ids = sorted({change.account_id for change in changes})
        locked = await connection.fetch(lock, self._shape.accounts(account_ids))
        overlays = {row[0]: Overlay(AccountId(row[0]), row[1], Counts(*row[2:])) for row in locked}
        await self._load_named(connection, changes, overlays)
        await self._load_documents_of(connection, changes, overlays)
        for change in changes:
            if change.guids is None and change.account_id in overlays:
                rows = await connection.fetch(_EVERY_ENTRY, change.account_id)
                await asyncio.to_thread(_load_rows, overlays[change.account_id], rows)
        return overlays

    async def _load_named(
        self,
        connection: asyncpg.Connection,
        changes: Sequence[Change],
        overlays: dict[AccountId, Overlay],
    ) -> None:
        guids = list(
            {
                (change.account_id, guid)
                for change in changes
                for guid in change.guids or ()
                if change.account_id in overlays
            }
        )
        for start in range(0, len(guids), _GUIDS_AT_ONCE):
            chunk = self._shape.columns(guids[start : start + _GUIDS_AT_ONCE])
            for row in await connection.fetch(self._load, *chunk):
                overlays[row[0]].load(ROWS.entry_of(row[1:]))

    async def _load_documents_of(
        self,
        connection: asyncpg.Connection,
        changes: Sequence[Change],
        overlays: dict[AccountId, Overlay],
    ) -> None:
        wanted = {
            (change.account_id, name.kind, name.name): name
            for change in changes
            for name in change.documents
            if change.account_id in overlays
        }
        if not wanted:
            return
        for row in await connection.fetch(self._load_documents, *self._shape.columns([*wanted])):
            overlays[row[0]].documents[wanted.pop(tuple(row[:3]))] = KnownDocument(row[3])
        if wanted:  # for a new document, the limit of its kind decides
            kinds = list(dict.fromkeys((account_id, kind) for account_id, kind, _ in wanted))
            rows = await connection.fetch(self._count_documents, *self._shape.columns(kinds))
            counts = {(row[0], row[1]): row[2] for row in rows}
            for (account_id, kind, _), name in wanted.items():
                others = counts.get((account_id, kind), 0)
                overlays[account_id].documents[name] = KnownDocument(None, others)

    async def _save_all(
        self, connection: asyncpg.Connection, overlays: Collection[Overlay]
    ) -> None:
        changed = [overlay for overlay in overlays if overlay.saved or overlay.forgotten]
        statements: dict[str, Iterator[tuple[Any, ...]]] = {
            self._save: (
                (o.account_id, *ROWS.entry_row(e)) for o in changed for e in o.saved.values()
            ),
            self._forget: ((o.account_id, guid) for o in changed for guid in o.forgotten),
            self._remember_deletion: (
                (o.account_id, *ROWS.deletion_row(deletion))
                for o in changed
                for deletion in o.deletions
            ),
            self._forget_deletions: ((o.account_id, MAX_DELETIONS) for o in changed if o.deletions),
            self._advance: ((o.account_id, o.last_stamp, *astuple(o.counts)) for o in changed),
            self._save_documents: (
                (o.account_id, *astuple(document))
                for o in overlays
                for document in o.saved_documents.values()
            ),
        }
        for clock, statement in self._save_progress.items():
            statements[statement] = _progress_rows(overlays, clock)
        for statement, rows in statements.items():
            while chunk := list(islice(rows, _ROWS_AT_ONCE)):
                await connection.execute(statement, *self._shape.columns(chunk))


def _progress_rows(overlays: Iterable[Overlay], clock: Clock) -> Iterator[tuple[Any, ...]]:
    for overlay in overlays:
        for changed in overlay.token_progress.values():
            if changed.clock is clock:
                yield (overlay.account_id, *progress_row(changed))


def _load_rows(overlay: Overlay, rows: Sequence[asyncpg.Record]) -> None:
    for row in rows:
        overlay.load(ROWS.entry_of(row))


async def _decide(change: Change, overlay: Overlay, now: Stamp) -> Outcome[Any]:
    """Let a change decide; in a thread, if that takes long."""
    decide = partial(overlay.run, change.guids, change.decide, now, change.documents)
    try:
        return Done(await asyncio.to_thread(decide) if change.weigh() > _FEW_CHANGED else decide())
    except Exception as error:  # noqa: BLE001 - a refusal or a defect; it must not fail the others
        return error
