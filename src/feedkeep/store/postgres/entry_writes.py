"""Changing entries in PostgreSQL: the changes of many requests share a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import asyncpg
from msgspec.structs import astuple

from feedkeep.model import (
    AccountId,
    Clock,
    Counts,
    Decision,
    DocumentKind,
    DocumentName,
    DocumentSelector,
    Guid,
    KnownDocument,
    Now,
    Snapshot,
    Stamp,
    Value,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.model.weights import weight_of_document
from feedkeep.store.base import MAX_DELETIONS, MAX_FORMER_STATES
from feedkeep.store.batch import Done, Outcome
from feedkeep.store.overlay import Origin, Overlay
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.counted import (
    Numbered,
    Row,
    RowsToWrite,
    write_at_once,
    write_in_turn,
)
from feedkeep.store.postgres.entry_write_statements import (
    CLOCK,
    DROP_UNTIL,
    EVERY_ENTRY,
    LAST_TO_GO,
    STATES,
    ChangeStatements,
)
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.shape import Shape, as_columns
from feedkeep.store.rows import FEW_ROWS, MAX_ROWS_IN_A_BATCH, is_light, progress_row

_GUIDS_AT_ONCE = 1_000
"""Maximum number of guids per loading statement; with many more, PostgreSQL reads whole tables."""

_ROWS_AT_ONCE = 500
"""Maximum number of rows written per round trip, so that other tasks can run in between."""

_BEFORE_ENTRY = 1 + len(CLOCK)


class Change(Value, frozen=True):
    """A request to change entries: the arguments of `Entries.change`."""

    account_id: AccountId
    guids: Sequence[Guid] | None
    decide: Callable[[Snapshot], Decision[Any]]
    documents: Sequence[DocumentSelector] = ()
    author: str | None = None
    history_from: Stamp | None = None


class Held(Exception):
    """The account needs its own transaction, which may wait for locks.

    Another transaction has locked it; or it is deleted, which is not known yet; or a change of its
    batch loads so many rows that the others must not wait for it.
    """


class Changes:
    """Makes changes in a transaction, with statements of the database's shape."""

    def __init__(self, shape: Shape, now: Now) -> None:
        self._now = now
        self._sql = ChangeStatements(shape)
        self._write = write_in_turn if shape.is_distributed else write_at_once

    async def make(
        self, connections: Connections, changes: Sequence[Change], *, may_wait: bool
    ) -> Sequence[Outcome[Any]]:
        """Lock, load, decide, save and commit.

        Unless `may_wait`, locked accounts are skipped with the outcome `Held`. All changes have
        this outcome if they load too many rows together.
        """
        account_ids = sorted({change.account_id for change in changes})
        lock = self._sql.lock if may_wait else self._sql.lock_what_is_free

        async def make(connection: asyncpg.Connection, locked_count: int) -> Sequence[Outcome[Any]]:
            locked = account_ids
            if locked_count < len(account_ids):
                locked = [row[0] for row in await connection.fetch(lock, account_ids)]
            return await self._make(connection, changes, locked, may_wait=may_wait)

        # A statement that is sent with BEGIN cannot have parameters.
        ids = ",".join(map(str, account_ids))
        return await connections.transact_after(lock.replace("$1", f"'{{{ids}}}'"), make)

    async def _make(
        self,
        connection: asyncpg.Connection,
        changes: Sequence[Change],
        locked: Sequence[AccountId],
        *,
        may_wait: bool,
    ) -> Sequence[Outcome[Any]]:
        try:
            overlays = await self._load_all(
                connection, changes, locked, None if may_wait else MAX_ROWS_IN_A_BATCH
            )
        except Held:
            return [Held() for _ in changes]
        # SKIP LOCKED returns no row for a locked account, nor for a deleted one. Only a second
        # attempt, which waits for the lock, tells them apart.
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
        self,
        connection: asyncpg.Connection,
        changes: Sequence[Change],
        locked: Sequence[AccountId],
        max_rows: int | None,
    ) -> dict[AccountId, Overlay]:
        overlays = await self._load_named(connection, changes, locked, max_rows)
        await self._load_documents_of(connection, changes, overlays)
        for change in changes:
            if change.account_id in overlays:
                await _load_whole(connection, change, overlays[change.account_id])
        return overlays

    async def _load_named(
        self,
        connection: asyncpg.Connection,
        changes: Sequence[Change],
        locked: Sequence[AccountId],
        max_rows: int | None,
    ) -> dict[AccountId, Overlay]:
        are_locked = set(locked)
        named = list(
            {
                (change.account_id, guid)
                for change in changes
                for guid in change.guids or (None,)  # None loads only the account
                if change.account_id in are_locked
            }
        )
        overlays: dict[AccountId, Overlay] = {}
        left = max_rows
        for start in range(0, len(named), _GUIDS_AT_ONCE):
            chunk = named[start : start + _GUIDS_AT_ONCE]
            rows = await connection.fetch(self._sql.load, *as_columns(chunk), left)
            if left is not None:
                left -= sum(map(_is_of_entry, rows))
                if left <= 0:
                    raise Held
            if len(rows) <= FEW_ROWS:
                _load_named_rows(overlays, rows)
            else:
                await asyncio.to_thread(_load_named_rows, overlays, rows)
        return overlays

    async def _load_documents_of(
        self,
        connection: asyncpg.Connection,
        changes: Sequence[Change],
        overlays: dict[AccountId, Overlay],
    ) -> None:
        wanted = {
            (change.account_id, document, None)
            if isinstance(document, DocumentKind)
            else (change.account_id, document.kind, document.name)
            for change in changes
            for document in change.documents
            if change.account_id in overlays
        }
        if not wanted:
            return
        bodies: dict[tuple[Any, ...], str | None] = {
            key: None for key in wanted if key[2] is not None
        }
        weights: dict[tuple[Any, ...], int] = {}
        for row in await connection.fetch(self._sql.load_documents, *as_columns([*wanted])):
            if row[2] is None:
                weights[row[0], row[1]] = row[4]
            else:
                bodies[tuple(row[:3])] = row[3]
        for (account_id, kind, name), body in bodies.items():
            others = weights.get((account_id, kind), 0) - weight_of_document(body)
            known = KnownDocument(body, others)
            overlays[account_id].documents[DocumentName(DocumentKind(kind), name)] = known

    async def _save_all(
        self, connection: asyncpg.Connection, overlays: Collection[Overlay]
    ) -> None:
        changed = [overlay for overlay in overlays if overlay.saved or overlay.forgotten]
        # Ended states are kept while the entries are still stored as they were.
        ended = self._ended(changed)
        if full := [o for o in changed if o.former_count > MAX_FORMER_STATES]:
            await self._execute(connection, ended)
            ended = {}
            for overlay in full:
                await _make_room(connection, overlay)
        # Both clocks of a token are in one row, which a statement can write only once.
        progress, *of_other_clocks = (
            {statement: _progress_rows(overlays, clock)}
            for clock, statement in self._sql.save_progress.items()
        )
        await self._execute(connection, ended | self._saved(overlays, changed) | progress)
        for progress in of_other_clocks:
            await self._execute(connection, progress)

    def _ended(self, changed: Sequence[Overlay]) -> dict[Numbered, Iterator[Row]]:
        """Return the former states to keep, by statement."""
        return {
            self._sql.keep_stored: (
                (o.account_id, state.entry.guid, state.ended)
                for o in changed
                for state in o.stored_ended
            ),
            self._sql.keep_restamped: (
                (o.account_id, *ROWS.entry_row(state.entry)[:-1], state.ended)
                for o in changed
                for state in o.restamped_ended
            ),
            self._sql.keep_made: (
                (o.account_id, *ROWS.former_state_row(state))
                for o in changed
                for state in o.made_and_ended
            ),
        }

    def _saved(
        self, overlays: Collection[Overlay], changed: Sequence[Overlay]
    ) -> dict[Numbered, Iterator[Row]]:
        """Return the rows to write of the list and its documents, by statement, in order."""
        return {
            self._sql.save: (row for o in changed for row in _saved_rows(o)),
            self._sql.forget: ((o.account_id, guid) for o in changed for guid in o.forgotten),
            # Before the new ones, which a statement in the same round trip would not see.
            self._sql.forget_deletions: (
                (o.account_id, MAX_DELETIONS - len(o.deletions)) for o in changed if o.deletions
            ),
            self._sql.remember_deletion: (
                (o.account_id, *ROWS.deletion_row(deletion))
                for o in changed
                for deletion in o.deletions
            ),
            self._sql.advance: (
                (o.account_id, o.last_stamp, o.known_from, o.former_count, *astuple(o.counts))
                for o in changed
            ),
            self._sql.save_documents: (
                (o.account_id, *astuple(document))
                for o in overlays
                for document in o.saved_documents.values()
            ),
        }

    async def _execute(
        self, connection: asyncpg.Connection, statements: Mapping[Numbered, Iterator[Row]]
    ) -> None:
        writes: list[RowsToWrite] = []
        room = _ROWS_AT_ONCE
        for statement, rows in statements.items():
            while some := list(islice(rows, room)):
                may_find_none = statement in self._sql.may_find_none
                writes.append(RowsToWrite(statement, some, may_find_none))
                room -= len(some)
                if not room:
                    await self._write(connection, writes)
                    writes, room = [], _ROWS_AT_ONCE
        await self._write(connection, writes)


def _overlay(
    account_id: AccountId, last_stamp: Stamp, known_from: Stamp, former_count: int, *counts: int
) -> Overlay:
    known = Counts(*counts)
    return Overlay(account_id, last_stamp, known, known_from=known_from, former_count=former_count)


def _saved_rows(overlay: Overlay) -> Iterator[Row]:
    goes_on = Origin()
    for guid, entry in overlay.saved.items():
        origin = overlay.origins.get(guid, goes_on)
        yield (overlay.account_id, *ROWS.entry_row(entry), origin.began, origin.author)


def _progress_rows(overlays: Iterable[Overlay], clock: Clock) -> Iterator[Row]:
    for overlay in overlays:
        for changed in overlay.token_progress.values():
            if changed.clock is clock:
                yield (overlay.account_id, *progress_row(changed))


async def _load_whole(connection: asyncpg.Connection, change: Change, overlay: Overlay) -> None:
    if change.history_from is not None:
        rows = await connection.fetch(STATES, change.account_id, change.history_from)
        await asyncio.to_thread(_load_states, overlay, rows)
    elif change.guids is None:
        rows = await connection.fetch(EVERY_ENTRY, change.account_id)
        await asyncio.to_thread(_load_rows, overlay, rows)


def _is_of_entry(row: asyncpg.Record) -> bool:
    return row[_BEFORE_ENTRY] is not None


def _load_named_rows(overlays: dict[AccountId, Overlay], rows: Sequence[asyncpg.Record]) -> None:
    for row in rows:
        if not _is_of_entry(row):
            overlays.setdefault(row[0], _overlay(*row[:_BEFORE_ENTRY]))
    for row in rows:
        if _is_of_entry(row):
            overlays[row[0]].load(ROWS.entry_of(row[_BEFORE_ENTRY:]))


def _load_rows(overlay: Overlay, rows: Sequence[asyncpg.Record]) -> None:
    for row in rows:
        overlay.load(ROWS.entry_of(row))


def _load_states(overlay: Overlay, rows: Sequence[asyncpg.Record]) -> None:
    for row in rows:
        overlay.load_state(ROWS.state_of(row))


async def _make_room(connection: asyncpg.Connection, overlay: Overlay) -> None:
    """Delete the former states that the oldest changes ended, down to the maximum weight."""
    too_many = overlay.former_count - MAX_FORMER_STATES
    until = await connection.fetchval(LAST_TO_GO, overlay.account_id, too_many)
    dropped = await connection.fetch(DROP_UNTIL, overlay.account_id, until)
    overlay.former_count -= sum(row[0] for row in dropped)
    overlay.known_from = max(overlay.known_from, until)


async def _decide(change: Change, overlay: Overlay, now: Stamp) -> Outcome[Any]:
    """Call a change's `decide`, in a thread if it takes long."""
    decide = partial(
        overlay.run,
        change.guids,
        change.decide,
        now,
        change.documents,
        author=change.author,
        history_from=change.history_from,
    )
    documents = overlay.known_documents(change.documents)
    try:
        if is_light(change.guids, overlay.rows, documents.values()):
            return Done(decide())
        return Done(await asyncio.to_thread(decide))
    except Exception as error:  # noqa: BLE001 - a refusal or a defect must not fail other changes
        return error
