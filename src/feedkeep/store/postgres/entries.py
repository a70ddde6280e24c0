"""Entries in PostgreSQL: many requests' loads, saves and reads, each as one statement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import asyncpg
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
    Snapshot,
    Value,
    View,
)
from feedkeep.store.base import MAX_DELETIONS
from feedkeep.store.batch import Done, Outcome
from feedkeep.store.overlay import Overlay
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.shape import Shape
from feedkeep.store.rows import COUNTS, ENTRY, SAVED_ENTRY, columns
from feedkeep.turns import LONG_LIST, beside

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
_SAVED = {name: _TYPES.get(name, "bigint") for name in SAVED_ENTRY}

MAX_GUIDS_IN_A_BATCH = 1_000
_GUIDS_AT_ONCE = 1_000
"""How many guids are loaded with one statement: for many more, whole tables would be read."""

_ROWS_AT_ONCE = 500
"""How many rows are written with one statement, so that others have their turn in between."""

_FEW_CHANGED = 100
"""How many guids a change may name that is decided at once."""

_WHOLE = f"""
SELECT a.last_stamp, {columns(COUNTS, "a")}, {columns(ENTRY, "e")}
FROM feedkeep.account a LEFT JOIN feedkeep.entry e ON e.account_id = $1
WHERE a.account_id = $1
"""
_EVERY_ENTRY = f"SELECT {columns(ENTRY)} FROM feedkeep.entry WHERE account_id = $1"
_BEFORE_ENTRY = 1 + len(COUNTS)
_DELETION = "SELECT id, guid FROM feedkeep.deletion WHERE account_id = $1 AND id = $2"


class Change(Value, frozen=True):
    """A request to change entries: what `Store.change` is given."""

    account_id: AccountId
    guids: Sequence[Guid] | None
    decide: Callable[[Snapshot], Decision[Any]]

    @property
    def weight(self) -> int:
        """How much of a batch it takes up; a whole account has one to itself."""
        return MAX_GUIDS_IN_A_BATCH if self.guids is None else len(self.guids)


class Held(Exception):
    """The account is being changed by another transaction, or is gone."""


class Entries:
    """The statements for many requests at once, in the shape that the database needs."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._write_locks(shape)
        self._write_changes(shape)
        self._write_reads(shape)

    def _write_locks(self, shape: Shape) -> None:
        is_wanted = "= $1" if shape.is_distributed else "= ANY($1::bigint[])"
        # In id order, so that no two transactions wait for one another; and in a statement of its
        # own, so that the next one sees what the last holder of the lock committed.
        self._lock = f"""
            SELECT a.account_id, a.last_stamp, {columns(COUNTS, "a")} FROM feedkeep.account a
            WHERE a.account_id {is_wanted} ORDER BY a.account_id FOR NO KEY UPDATE
        """
        self._lock_what_is_free = f"{self._lock} SKIP LOCKED"

    def _write_changes(self, shape: Shape) -> None:
        account, wanted = shape.account, shape.wanted
        same = "$1" if shape.is_distributed else "t.account_id"
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
            INSERT INTO feedkeep.entry (account_id, {columns(SAVED_ENTRY)})
            {shape.selected(**_SAVED)}
            ON CONFLICT (account_id, guid) DO UPDATE SET
                {", ".join(f"{name} = excluded.{name}" for name in SAVED_ENTRY[1:])}
        """
        self._forget = f"""
            DELETE FROM feedkeep.entry e USING {wanted(guid="uuid")}
            WHERE e.account_id = {account} AND e.guid = w.guid
        """
        self._remember_deletion = f"""
            INSERT INTO feedkeep.deletion (account_id, id, guid)
            {shape.selected(id="bigint", guid="uuid")}
        """
        self._forget_deletions = f"""
            DELETE FROM feedkeep.deletion d USING {wanted(most="bigint")}
            WHERE d.account_id = {account} AND d.id <= (
                SELECT o.id FROM feedkeep.deletion o
                WHERE o.account_id = {account} ORDER BY o.id DESC LIMIT 1 OFFSET w.most
            )
        """
        self._advance = f"""
            UPDATE feedkeep.account a SET {", ".join(f"{name} = w.{name}" for name in _ADVANCED)}
            FROM {wanted(**_ADVANCED)} WHERE a.account_id = {account}
        """

    def _write_reads(self, shape: Shape) -> None:
        account, wanted = shape.account, shape.wanted
        self._views = f"""
            SELECT w.n, {columns(ENTRY, "e")}, {columns(ENTRY, "s")}
            FROM {wanted("WITH ORDINALITY", guid="uuid")}
            JOIN feedkeep.entry e ON e.account_id = {account} AND e.guid = w.guid
            LEFT JOIN feedkeep.entry s ON s.account_id = {account} AND s.guid = e.new_guid
        """
        # Who begins at the start is told what is kept with the account: nobody counts all of it.
        page = wanted(
            "WITH ORDINALITY", since="bigint", after="bigint", most="bigint", skipped="bigint"
        )
        self._pages = f"""
            SELECT w.n, CASE WHEN b.is_any THEN t.total ELSE a.announced_count END, p.* FROM {page}
            JOIN feedkeep.account a ON a.account_id = {account}
            CROSS JOIN LATERAL (
                SELECT EXISTS (
                    SELECT 1 FROM feedkeep.entry f
                    WHERE f.account_id = {account} AND f.revision <= w.since
                ) AS is_any
            ) b
            CROSS JOIN LATERAL (
                SELECT count(*) AS total FROM feedkeep.entry c
                WHERE c.account_id = {account} AND c.revision > w.since AND b.is_any
            ) t
            LEFT JOIN LATERAL (
                SELECT {_twice("e", "s")} FROM feedkeep.entry e
                LEFT JOIN feedkeep.entry s ON s.account_id = {account} AND s.guid = e.new_guid
                WHERE e.account_id = {account} AND e.revision > w.after
                ORDER BY e.revision LIMIT w.most OFFSET w.skipped
            ) p ON true
        """

    async def change(
        self, connection: asyncpg.Connection, changes: Sequence[Change], *, may_wait: bool
    ) -> Sequence[Outcome[Any]]:
        """Lock, load, decide and save; the transaction around it is the caller's.

        Unless it may wait, the outcome for accounts that cannot be locked at once is `Held`.
        """
        lock = self._lock if may_wait else self._lock_what_is_free
        overlays = await self._load_all(connection, changes, lock)
        missing = NotAuthorized if may_wait else Held
        outcomes = [
            await _decide(change, overlays[change.account_id])
            if change.account_id in overlays
            else missing()
            for change in changes
        ]
        await self._save_all(connection, overlays.values())
        return outcomes

    async def views(
        self, connections: Connections, wanted: Sequence[tuple[AccountId, Guid]]
    ) -> Sequence[View | None]:
        """Return an entry with its subscription for each account and guid."""
        rows = await connections.fetch(self._views, *self._columns(wanted))
        views: list[View | None] = [None] * len(wanted)
        for row in rows:
            views[row[0] - 1] = ROWS.view_of(row[1:])
        return views

    async def pages(
        self, connections: Connections, wanted: Sequence[tuple[AccountId, PageRequest]]
    ) -> Sequence[Page]:
        """Return a page for each account and request; each is of one moment."""
        ranges = [(account_id, *_range(request)) for account_id, request in wanted]
        rows = await connections.fetch(self._pages, *self._columns(ranges))
        totals = [0] * len(wanted)
        views: list[list[View]] = [[] for _ in wanted]
        for row in rows:
            totals[row[0] - 1] = row[1]
            if row[2] is not None:
                views[row[0] - 1].append(ROWS.view_of(row[2:]))
        return [
            Page(total, found[: request.per_page], has_more=len(found) > request.per_page)
            for total, found, (_, request) in zip(totals, views, wanted, strict=True)
        ]

    async def _load_all(
        self, connection: asyncpg.Connection, changes: Sequence[Change], lock: str
    ) -> dict[AccountId, Overlay]:
        account_ids = sorted({change.account_id for change in changes})
        locked = await connection.fetch(lock, self._shape.accounts(account_ids))
        overlays = {row[0]: Overlay(AccountId(row[0]), row[1], Counts(*row[2:])) for row in locked}
        await self._load_named(connection, changes, overlays)
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
            some = self._columns(guids[start : start + _GUIDS_AT_ONCE])
            for row in await connection.fetch(self._load, *some):
                overlays[row[0]].load(ROWS.entry_of(row[1:]))

    async def _save_all(self, connection: asyncpg.Connection, overlays: Iterable[Overlay]) -> None:
        changed = [overlay for overlay in overlays if overlay.saved or overlay.forgotten]
        statements: dict[str, Iterator[tuple[Any, ...]]] = {
            self._save: (
                (o.account_id, *ROWS.row_of(e)) for o in changed for e in o.saved.values()
            ),
            self._forget: ((o.account_id, guid) for o in changed for guid in o.forgotten),
            self._remember_deletion: (
                (o.account_id, deletion.id, deletion.guid)
                for o in changed
                for deletion in o.deletions
            ),
            self._forget_deletions: ((o.account_id, MAX_DELETIONS) for o in changed if o.deletions),
            self._advance: ((o.account_id, o.last_stamp, *astuple(o.counts)) for o in changed),
        }
        for statement, rows in statements.items():
            while some := list(islice(rows, _ROWS_AT_ONCE)):
                await connection.execute(statement, *self._columns(some))

    def _columns(self, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the parameters for rows that start with their account."""
        account_ids, *columns = (list(column) for column in zip(*rows, strict=True))
        return [self._shape.accounts(account_ids), *columns]


async def whole(connections: Connections, account_id: AccountId) -> Snapshot:
    """Return all entries of an account."""
    rows = await connections.fetch(_WHOLE, account_id)
    if not rows:
        raise NotAuthorized
    last_stamp, *counts = rows[0][:_BEFORE_ENTRY]
    entries = await beside(len(rows) > LONG_LIST, _by_guid, rows)
    return Snapshot(entries, last_stamp, wall_clock.now(), Counts(*counts))


def _by_guid(rows: Sequence[asyncpg.Record]) -> dict[Guid, Entry]:
    found = [ROWS.entry_of(row[_BEFORE_ENTRY:]) for row in rows if row[_BEFORE_ENTRY] is not None]
    return {entry.guid: entry for entry in found}


def _load_rows(overlay: Overlay, rows: Sequence[asyncpg.Record]) -> None:
    for row in rows:
        overlay.load(ROWS.entry_of(row))


async def deletion(
    connections: Connections, account_id: AccountId, deletion_id: int
) -> Deletion | None:
    """Return the deletion of that id."""
    rows = await connections.fetch(_DELETION, account_id, deletion_id)
    return ROWS.deletion_of(rows[0]) if rows else None


async def _decide(change: Change, overlay: Overlay) -> Outcome[Any]:
    """Let a change decide; beside the event loop, if that takes long."""
    decide = partial(overlay.run, change.guids, change.decide, wall_clock.now())
    try:
        return Done(await asyncio.to_thread(decide) if change.weight > _FEW_CHANGED else decide())
    except Exception as error:  # noqa: BLE001 - a refusal or a defect, and this request's alone
        return error


def _range(request: PageRequest) -> tuple[int, int, int, int]:
    """Return since, after, how many are wanted, and how many are skipped."""
    most = request.per_page + 1  # one more than the page holds tells whether another follows
    if request.after is not None:
        return request.since, request.after, most, 0
    return request.since, request.since, most, (request.page - 1) * request.per_page


def _twice(entry: str, subscription: str) -> str:
    """Return the columns of two tables under names that differ."""
    return ", ".join(
        f"{alias}.{name} AS {alias}_{name}" for alias in (entry, subscription) for name in ENTRY
    )
