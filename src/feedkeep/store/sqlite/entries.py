"""Entries in SQLite: changing, viewing and listing them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic
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
from feedkeep.store.batch import MAX_WRITE_WEIGHT, Done, Outcome, weight_of_change
from feedkeep.store.overlay import Overlay
from feedkeep.store.rows import MAX_ROWS_IN_A_BATCH, is_light
from feedkeep.store.sqlite import entry_writes
from feedkeep.store.sqlite.connection import one_moment
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.store.sqlite.runner import Joint, SqliteRunner
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

    def load_at_one_moment(self, connection: apsw.Connection) -> entry_writes.Loaded:
        with one_moment(connection):
            return at_once(
                entry_writes.loaded(
                    connection, self.account_id, self.guids, self.documents, self.history_from
                )
            )

    def run(self, overlay: Overlay, now: Now) -> T:
        """Decide with the changes of the overlay so far, and apply the decision to it."""
        return overlay.run(
            self.guids,
            self.decide,
            now(),
            self.documents,
            author=self.author,
            history_from=self.history_from,
        )

    def outcome(self, overlay: Overlay, now: Now) -> Outcome[T]:
        """As `run`, but return an error: a refusal or a defect must not fail other changes."""
        try:
            return Done(self.run(overlay, now))
        except Exception as error:  # noqa: BLE001
            return error

    def is_light(self, overlay: Overlay) -> bool:
        known = overlay.known_documents(self.documents)
        return is_light(self.guids, overlay.rows, known.values())

    def save_unless_changed(
        self, connection: apsw.Connection, before: entry_writes.Loaded
    ) -> Yielding[bool]:
        """Save the change; return False if the account has changed since it was loaded."""
        if entry_writes.version(connection, self.account_id, self.documents) != before.version:
            return False
        yield from entry_writes.save(connection, before)
        return True


def make_together(
    connection: apsw.Connection, changes: Sequence[_Change[Any]], now: Now
) -> Yielding[Sequence[Outcome[Any]]]:
    """Load, decide and save changes of one account in a transaction, with one load and one save.

    Each change has a decision, an outcome and stamps of its own, as if they were made in turn. A
    decision is applied only when it is complete, so a change that raises an error leaves nothing.

    Raises:
        NotAuthorized: The account is deleted.
    """
    first, *others = changes
    guids, documents = first.guids, first.documents
    if others:  # changes of a whole account are alone
        guids = list({guid for change in changes for guid in change.guids or ()})
        documents = list(dict.fromkeys(one for change in changes for one in change.documents))
    before = yield from entry_writes.loaded(
        connection, first.account_id, guids, documents, first.history_from
    )
    outcomes: list[Outcome[Any]] = []
    for change in changes:
        decide = partial(change.outcome, before.overlay, now)
        outcomes.append(decide() if change.is_light(before.overlay) else (yield decide))
        if others:
            yield None
    yield from entry_writes.save(connection, before)
    return outcomes


class SqliteEntries:
    """The tables `entry` and `deletion`."""

    def __init__(self, runner: SqliteRunner, now: Now) -> None:
        self._runner = runner
        self._now = now
        self._make_together = partial(make_together, now=now)
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
        return await self._make(asked, weight_of_change(guids, history_from))

    async def _make(self, asked: _Change[T], weight: int) -> T:
        job = Joint(asked.account_id, asked, self._make_together)
        made: T = await self._runner.write_joint(job, weight)
        return made

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
            before = await self._runner.scan(asked.load_at_one_moment)
            outcome = await asyncio.to_thread(asked.run, before.overlay, self._now)
            save = partial(asked.save_unless_changed, before=before)
            rows = max(before.overlay.changed_rows, 1)
            if await self._runner.write_in_turns(save, asked.account_id, rows):
                return outcome
        if self._rows(asked.account_id) > _MOST_ROWS_HELD:
            raise AccountBusy("The list was changed again and again meanwhile; try again.")
        return await self._make(asked, MAX_WRITE_WEIGHT)

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
                found = at_once(entry_writes.loaded(connection, account_id, None, (), history_from))
                return found.overlay.snapshot(None, now, (), history_from)

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
