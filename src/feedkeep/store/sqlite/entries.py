"""Entries in SQLite: changing, viewing and listing them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic
from weakref import WeakValueDictionary

import apsw

from feedkeep.model import (
    AccountId,
    Decision,
    Deletion,
    DocumentSelector,
    Entry,
    Guid,
    Now,
    Page,
    PageRequest,
    Snapshot,
    Stamp,
    Subscription,
    T,
    Value,
    View,
)
from feedkeep.model.errors import AccountBusy
from feedkeep.runtime.cooperative import Yielding, at_once
from feedkeep.store.base.entries import MAX_ESCAPED
from feedkeep.store.batch import MAX_WRITE_WEIGHT, weight_of_change
from feedkeep.store.rows import MAX_ROWS_IN_A_BATCH, is_light
from feedkeep.store.sqlite import entry_writes
from feedkeep.store.sqlite.connection import one_moment
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import ENTRY, columns

_TRIES = 5
"""Maximum number of attempts to decide a change of a large account before its transaction."""

_MOST_ROWS_HELD = 5 * MAX_ROWS_IN_A_BATCH
"""Maximum rows of an account to decide its change in the transaction, which blocks others."""

_FEW_READ = 250
_FEW_COUNTED = 10_000
"""Maximum numbers of entries read, and counted, on the event loop, within 1 ms."""

_ENTRY = f"SELECT {columns(ENTRY)} FROM entry WHERE account_id = ? AND guid = ?"
_VIEW = f"""
SELECT {columns(ENTRY, "e")}, {columns(ENTRY, "s")} FROM entry e
LEFT JOIN entry s ON s.account_id = e.account_id AND s.guid = e.new_guid
WHERE e.account_id = ? AND e.guid = ?
"""
# Lists have few pointers. A join with their targets would read as many columns again for each
# entry, nearly all of them null.
_PAGE = f"""
SELECT {columns(ENTRY)} FROM entry WHERE account_id = ? AND revision > ?
ORDER BY revision LIMIT ? OFFSET ?
"""
_IS_ANY_BEFORE = "SELECT EXISTS (SELECT 1 FROM entry WHERE account_id = ? AND revision <= ?)"
_ANNOUNCED = "SELECT announced_count FROM account WHERE account_id = ?"
_CHANGED = f"""
SELECT {columns(ENTRY, "e")} FROM entry e WHERE e.account_id = ? AND e.revision >= ?
UNION ALL
SELECT {columns(ENTRY, "p")} FROM entry e JOIN entry p
ON p.account_id = e.account_id AND p.new_guid = e.guid
WHERE e.account_id = ? AND e.revision >= ? AND p.alias_url IS NOT NULL
AND ifnull(p.revision < ?, TRUE)
LIMIT ?
"""
_COUNT = """
SELECT count(*) FROM (SELECT 1 FROM entry WHERE account_id = ? AND revision > ? LIMIT ?)
"""
_ALL_OF_THEM = -1
_ESCAPED = """
SELECT feed_url, alias_url FROM entry INDEXED BY entry_with_escapes
WHERE account_id = ? AND (instr(feed_url, '%') OR instr(alias_url, '%')) ORDER BY guid LIMIT ?
"""
_DELETION = "SELECT id, guid FROM deletion WHERE account_id = ? AND id = ?"


class _Change(Value, Generic[T], frozen=True):
    """A request to change entries: the arguments of `Entries.change`."""

    account_id: AccountId
    guids: Sequence[Guid] | None
    decide: Callable[[Snapshot], Decision[T]]
    documents: Sequence[DocumentSelector]
    author: str | None
    history_from: Stamp | None

    def load(self, connection: apsw.Connection, now: Now) -> Yielding[entry_writes.Loaded]:
        return entry_writes.loaded(
            connection, self.account_id, self.guids, now(), self.documents, self.history_from
        )

    def load_at_one_moment(self, connection: apsw.Connection, now: Now) -> entry_writes.Loaded:
        with one_moment(connection):
            return at_once(self.load(connection, now))

    def make(self, connection: apsw.Connection, now: Now) -> Yielding[T]:
        """Load, decide and save in one transaction."""
        before = yield from self.load(connection, now)
        decision: Decision[T]
        if is_light(self.guids, before.rows, before.snapshot.documents.values()):
            decision = self.decide(before.snapshot)
        else:
            decision = yield partial(self.decide, before.snapshot)
        yield from entry_writes.save(connection, self.account_id, decision, self.author, before)
        return decision.outcome

    def save_unless_changed(
        self, connection: apsw.Connection, before: entry_writes.Loaded, decision: Decision[T]
    ) -> Yielding[bool]:
        """Save a decision; return False if the account has changed since it was loaded."""
        if not entry_writes.is_as_loaded(connection, self.account_id, self.documents, before):
            return False
        yield from entry_writes.save(connection, self.account_id, decision, self.author, before)
        return True


class SqliteEntries:
    """The tables `entry` and `deletion`."""

    def __init__(self, runner: SqliteRunner, now: Now) -> None:
        self._runner = runner
        self._now = now
        self._one_by_one: WeakValueDictionary[AccountId, asyncio.Lock] = WeakValueDictionary()

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
        asked = _Change(account_id, guids, decide, documents, author, history_from)
        if guids is None and self._rows(account_id) > MAX_ROWS_IN_A_BATCH:
            async with self._one_by_one.setdefault(account_id, asyncio.Lock()):
                return await self._change_large(asked)
        weight = weight_of_change(guids, history_from)
        return await self._runner.write_in_turns(
            partial(asked.make, now=self._now), account_id, weight
        )

    def _rows(self, account_id: AccountId) -> int:
        return self._runner.read(lambda connection: entry_writes.rows_of(connection, account_id))

    async def _change_large(self, asked: _Change[T]) -> T:
        """Load and decide before the transaction, which blocks other accounts, and save in it.

        If the account was changed concurrently, the change is loaded and decided again; after
        `_TRIES` attempts, this happens in the transaction.

        Raises:
            AccountBusy: The account changed during each attempt, and has too many rows to be loaded
                in the transaction.
        """
        for _ in range(_TRIES):
            before = await self._runner.scan(partial(asked.load_at_one_moment, now=self._now))
            decision = await asyncio.to_thread(asked.decide, before.snapshot)
            save = partial(asked.save_unless_changed, before=before, decision=decision)
            rows = len(decision.saved) + len(decision.forgotten) + len(decision.ended)
            if await self._runner.write_in_turns(save, asked.account_id, max(rows, 1)):
                return decision.outcome
        if self._rows(asked.account_id) > _MOST_ROWS_HELD:
            raise AccountBusy("The list was changed again and again meanwhile; try again.")
        make = partial(asked.make, now=self._now)
        return await self._runner.write_in_turns(make, asked.account_id, MAX_WRITE_WEIGHT)

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        wanted = (account_id, to_bytes(guid))
        row = self._runner.read(lambda connection: connection.execute(_VIEW, wanted).get)
        return ROWS.view_of(row) if row else None

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        _, skipped = _start(request)
        if request.per_page + skipped <= _FEW_READ:
            short = self._runner.read(
                lambda connection: read_page(connection, account_id, request, _FEW_COUNTED)
            )
            if short.total != _FEW_COUNTED:
                return short
        return await self._runner.scan(
            lambda connection: read_page(connection, account_id, request)
        )

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        wanted = (account_id, deletion_id)
        row = self._runner.read(lambda connection: connection.execute(_DELETION, wanted).get)
        return ROWS.deletion_of(row) if row else None

    async def whole(self, account_id: AccountId, history_from: Stamp | None = None) -> Snapshot:
        def read(connection: apsw.Connection) -> Snapshot:
            with one_moment(connection):
                now = self._now()
                found = entry_writes.loaded(connection, account_id, None, now, (), history_from)
                return at_once(found).snapshot

        return await self._runner.scan(read)

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        def read(connection: apsw.Connection, limit: int) -> list[Entry]:
            rows = connection.execute(_CHANGED, (*(account_id, first) * 2, first, limit))
            return [ROWS.entry_of(row) for row in rows]

        few = self._runner.read(lambda connection: read(connection, _FEW_READ + 1))
        if len(few) <= _FEW_READ:
            return few
        return await self._runner.scan(lambda connection: read(connection, _ALL_OF_THEM))

    async def escaped(self, account_id: AccountId) -> Sequence[str]:
        few = (account_id, _FEW_READ + 1)
        rows = self._runner.read(lambda connection: connection.execute(_ESCAPED, few).fetchall())
        if len(rows) > _FEW_READ:
            most = (account_id, MAX_ESCAPED)
            rows = await self._runner.scan(
                lambda connection: connection.execute(_ESCAPED, most).fetchall()
            )
        return [str(url) for row in rows for url in row if url and "%" in str(url)]


def read_page(
    connection: apsw.Connection,
    account_id: AccountId,
    request: PageRequest,
    max_counted: int = _ALL_OF_THEM,
) -> Page:
    """Return a page of entries that changed after a stamp, read at one moment."""
    after, skipped = _start(request)
    with one_moment(connection):
        total = _total(connection, account_id, request.since, max_counted)
        # one entry more than the page, to know whether another page follows
        wanted = (account_id, after, request.per_page + 1, skipped)
        rows = connection.execute(_PAGE, wanted).fetchall()
        views = [_view(connection, account_id, ROWS.entry_of(row)) for row in rows]
    return Page(total, views[: request.per_page], has_more=len(views) > request.per_page)


def _view(connection: apsw.Connection, account_id: AccountId, entry: Entry) -> View:
    if isinstance(entry, Subscription):
        return View(entry, entry)
    wanted = (account_id, to_bytes(entry.new_guid))
    return View(entry, ROWS.subscription_of(connection.execute(_ENTRY, wanted).get))


def _total(
    connection: apsw.Connection, account_id: AccountId, since: Stamp, max_counted: int
) -> int:
    """Return the number of entries that changed after a stamp, at most `max_counted`.

    For a list from the start, the count stored with the account is used.
    """
    if not connection.execute(_IS_ANY_BEFORE, (account_id, since)).get:
        return connection.execute(_ANNOUNCED, (account_id,)).get or 0
    count: int = connection.execute(_COUNT, (account_id, since, max_counted)).get
    return count


def _start(request: PageRequest) -> tuple[Stamp, int]:
    if request.after is not None:
        return request.after, 0
    return request.since, (request.page - 1) * request.per_page
