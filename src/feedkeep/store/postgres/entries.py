"""Entries in PostgreSQL: changes and reads of many requests share statements."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from feedkeep.model import (
    AccountId,
    Counts,
    Decision,
    Deletion,
    DocumentSelector,
    Entry,
    Guid,
    History,
    Now,
    Page,
    PageRequest,
    Snapshot,
    Stamp,
    T,
    View,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.store.base.entries import MAX_ESCAPED
from feedkeep.store.batch import MAX_SHARE, Outcome, weight_of_change
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.entry_write_statements import STATES
from feedkeep.store.postgres.entry_writes import Change, Changes, Held
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.postgres.shape import Shape, as_columns
from feedkeep.store.tables import COUNTS, ENTRY, columns

MAX_VIEWS_IN_A_BATCH = 256
MAX_LISTED_IN_A_BATCH = 1_000
"""Maximum number of entries in the pages that one statement reads."""

_WHOLE = f"""
SELECT a.last_stamp, {columns(COUNTS, "a")}, {columns(ENTRY, "e")}
FROM feedkeep.account a LEFT JOIN feedkeep.entry e ON e.account_id = $1
WHERE a.account_id = $1
"""
_BEFORE_ENTRY = 1 + len(COUNTS)
_WHOLE_WITH_HISTORY = f"""
SELECT a.last_stamp, {columns(COUNTS, "a")}, a.known_from, s.*
FROM feedkeep.account a LEFT JOIN ({STATES}) s ON true
WHERE a.account_id = $1
"""
_BEFORE_STATE = _BEFORE_ENTRY + 1
_CHANGED = f"""
SELECT {columns(ENTRY, "e")} FROM feedkeep.entry e WHERE e.account_id = $1 AND e.revision >= $2
UNION ALL
SELECT {columns(ENTRY, "p")} FROM feedkeep.entry e
JOIN feedkeep.entry p ON p.account_id = $1 AND p.new_guid = e.guid
WHERE e.account_id = $1 AND e.revision >= $2 AND p.alias_url IS NOT NULL
AND coalesce(p.revision < $2, true)
"""
ESCAPED = f"""
SELECT feed_url, alias_url FROM feedkeep.entry
WHERE account_id = $1 AND (strpos(feed_url, '%') > 0 OR strpos(alias_url, '%') > 0)
ORDER BY guid LIMIT {MAX_ESCAPED}
"""
_TWICE = ", ".join(f"{alias}.{name} AS {alias}_{name}" for alias in "es" for name in ENTRY)
_DELETION = "SELECT id, guid FROM feedkeep.deletion WHERE account_id = $1 AND id = $2"


class PostgresEntries:
    """The tables `entry` and `deletion`.

    An account that another transaction has locked, or whose changes load many rows, does not delay
    other accounts: its changes run in separate batches, which never take all connections.
    """

    def __init__(self, runner: PostgresRunner, now: Now) -> None:
        self._runner = runner
        self._now = now
        self._write_reads(runner.shape)
        self._making = Changes(runner.shape, now)
        self._may_wait = asyncio.Semaphore(max(1, runner.max_connections // 2))
        self._changes = runner.writer(self._change_what_is_free)
        self._waiting = runner.writer(self._change)
        self._viewed = runner.reader(self._read_views, MAX_VIEWS_IN_A_BATCH)
        self._listed = runner.reader(self._read_pages, MAX_LISTED_IN_A_BATCH)

    def _write_reads(self, shape: Shape) -> None:
        same, wanted = shape.same, shape.wanted
        self._views = f"""
            SELECT w.n, {columns(ENTRY, "e")}, {columns(ENTRY, "s")}
            FROM {wanted(1, "WITH ORDINALITY", guid="uuid")}
            JOIN feedkeep.entry e ON {same("e")} AND e.guid = w.guid
            LEFT JOIN feedkeep.entry s ON {same("s")} AND s.guid = e.new_guid
        """
        # For a list from the start, the count stored with the account is used. The order makes
        # PostgreSQL find the first entry in an index. Without it, it reads the entries of all
        # accounts, where one of them has most, for each row of the page.
        page = wanted(
            1,
            "WITH ORDINALITY",
            since="bigint",
            after="bigint",
            max_rows="bigint",
            skipped="bigint",
        )
        self._pages = f"""
            SELECT w.n, CASE WHEN b.is_any THEN t.total ELSE a.announced_count END, p.* FROM {page}
            JOIN feedkeep.account a ON {same("a")}
            LEFT JOIN LATERAL (
                SELECT true AS is_any FROM feedkeep.entry f
                WHERE {same("f")} AND f.revision <= w.since ORDER BY f.revision LIMIT 1
            ) b ON true
            CROSS JOIN LATERAL (
                SELECT count(*) AS total FROM feedkeep.entry c
                WHERE {same("c")} AND c.revision > w.since AND b.is_any
            ) t
            LEFT JOIN LATERAL (
                SELECT {_TWICE} FROM feedkeep.entry e
                LEFT JOIN feedkeep.entry s ON {same("s")} AND s.guid = e.new_guid
                WHERE {same("e")} AND e.revision > w.after
                ORDER BY e.revision LIMIT w.max_rows OFFSET w.skipped
            ) p ON true
        """

    async def change(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
        documents: Sequence[DocumentSelector] = (),
        *,
        author: str | None = None,
        history_from: Stamp | None = None,
    ) -> T:
        change = Change(account_id, guids, decide, documents, author, history_from)
        weight = weight_of_change(guids, history_from)
        value: T
        if weight <= MAX_SHARE:
            key = await self._runner.key(account_id)
            with suppress(Held):
                value = await self._changes.submit(change, key, owner=account_id, weight=weight)
                return value
        value = await self._waiting.submit(change, account_id, weight=weight)
        return value

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        return await self._viewed.submit((account_id, guid), await self._runner.key(account_id))

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        key = await self._runner.key(account_id)
        return await self._listed.submit((account_id, request), key, weight=request.per_page)

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        rows = await self._runner.read(
            lambda connections: connections.fetch(_DELETION, account_id, deletion_id)
        )
        return ROWS.deletion_of(rows[0]) if rows else None

    async def whole(self, account_id: AccountId, history_from: Stamp | None = None) -> Snapshot:
        with_history = () if history_from is None else (history_from,)
        statement = _WHOLE_WITH_HISTORY if with_history else _WHOLE
        read_rows = _with_history if with_history else _without_history

        rows = await self._runner.scan(
            lambda connections: connections.fetch(statement, account_id, *with_history)
        )
        if not rows:
            raise NotAuthorized
        return await in_thread_if(len(rows) > LONG_LIST, read_rows, rows, self._now())

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        rows = await self._runner.scan(
            lambda connections: connections.fetch(_CHANGED, account_id, first)
        )
        return await in_thread_if(
            len(rows) > LONG_LIST, lambda: [ROWS.entry_of(row) for row in rows]
        )

    async def escaped(self, account_id: AccountId) -> Sequence[str]:
        rows = await self._runner.read(lambda connections: connections.fetch(ESCAPED, account_id))
        return [url for row in rows for url in row if url and "%" in url]

    async def _change_what_is_free(self, changes: Sequence[Change]) -> Sequence[Outcome[Any]]:
        return await self._making.make(self._runner.connections, changes, may_wait=False)

    async def _change(self, changes: Sequence[Change]) -> Sequence[Outcome[Any]]:
        async with self._may_wait:
            return await self._making.make(self._runner.connections, changes, may_wait=True)

    async def _read_views(
        self, connections: Connections, wanted: Sequence[tuple[AccountId, Guid]]
    ) -> Sequence[View | None]:
        rows = await connections.fetch(self._views, *as_columns(wanted))
        views: list[View | None] = [None] * len(wanted)
        for row in rows:
            views[row[0] - 1] = ROWS.view_of(row[1:])
        return views

    async def _read_pages(
        self, connections: Connections, wanted: Sequence[tuple[AccountId, PageRequest]]
    ) -> Sequence[Page]:
        ranges = [(account_id, *_range(request)) for account_id, request in wanted]
        rows = await connections.fetch(self._pages, *as_columns(ranges))
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


def _without_history(rows: Sequence[asyncpg.Record], now: Stamp) -> Snapshot:
    last_stamp, *counts = rows[0][:_BEFORE_ENTRY]
    found = [ROWS.entry_of(row[_BEFORE_ENTRY:]) for row in rows if row[_BEFORE_ENTRY] is not None]
    return Snapshot({entry.guid: entry for entry in found}, last_stamp, now, Counts(*counts))


def _with_history(rows: Sequence[asyncpg.Record], now: Stamp) -> Snapshot:
    last_stamp, *counts, known_from = rows[0][:_BEFORE_STATE]
    states = [ROWS.state_of(row[_BEFORE_STATE:]) for row in rows if row[_BEFORE_STATE] is not None]
    entries = {state.entry.guid: state.entry for state in states if state.ended is None}
    history = History(states, known_from)
    return Snapshot(entries, last_stamp, now, Counts(*counts), history=history)


def _range(request: PageRequest) -> tuple[int, int, int, int]:
    """Return since, after, the maximum number of entries to read, and the number to skip first."""
    max_rows = request.per_page + 1  # one more, to know whether another page follows
    if request.after is not None:
        return request.since, request.after, max_rows, 0
    return request.since, request.since, max_rows, (request.page - 1) * request.per_page
