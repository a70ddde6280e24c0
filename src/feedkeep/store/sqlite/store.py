"""`SqliteStore`: the Store protocol over one writer thread and readers that never wait for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self

import apsw

from feedkeep.errors import FeedkeepError, StoreDamaged, StoreUnavailable
from feedkeep.model import (
    Account,
    AccountId,
    ActionRequest,
    Clock,
    Decision,
    Deletion,
    Document,
    DocumentKind,
    Entry,
    EpisodeAction,
    Found,
    Grant,
    Guid,
    Page,
    PageRequest,
    Records,
    Snapshot,
    Stamp,
    T,
    Token,
    Told,
    View,
)
from feedkeep.store.base import Check, DecideActions
from feedkeep.store.batch import Batcher, Done, FailedBeforeCommit, Outcome, reader
from feedkeep.store.sqlite import accounts, apps, archive, entries, lock, logins
from feedkeep.store.sqlite.archive import SqliteArchive
from feedkeep.store.sqlite.connection import (
    APPLICATION_ID,
    READER_PATIENCE_SECONDS,
    WRITER_PATIENCE_SECONDS,
    Translating,
    assert_there,
    connect,
    damages,
    prepare,
    roll_back,
)
from feedkeep.store.sqlite.place import Place
from feedkeep.turns import Turn, Turns

MAX_JOBS_IN_A_BATCH = 256

P = ParamSpec("P")
Job = Callable[[apsw.Connection], Any]
"""Work inside a transaction. It raises a `FeedkeepError` before its first write, or not at all.

What may take longer than others should wait returns `Turns`, which do the work, and yield within a
millisecond: then others have their turn, in the middle of the transaction. They may be refused at
any time.
"""


class _InPlace(Translating):
    """A context for what is asked of a database: it is refused while a file is not in its place."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __enter__(self) -> None:
        """Look whether the files are there, if nobody did lately."""
        self._place.assert_kept_lately()


class SqliteStore:
    """A SQLite file in WAL mode with `synchronous=FULL`; other processes may use it meanwhile.

    All writes of this process go through one connection, and share commits. What takes a few rows
    is done at once, by the caller's thread: that costs less than handing it over. What may take
    long has threads of its own: commits, and whatever scans, so that a long list holds nobody up.
    """

    def __init__(self, path: Path, used: int) -> None:
        """Open a file that `prepare` has brought up to date; use `open` instead.

        `used` is the descriptor of its lock, which is closed with the store.
        """
        self._path = path
        self._used = used
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._scanning = ThreadPoolExecutor(1, thread_name_prefix="sqlite-scanner")
        self._may_scan = asyncio.Semaphore(1)
        with Translating():
            self._writer = connect(path, WRITER_PATIENCE_SECONDS)
            self._scanner = connect(path, READER_PATIENCE_SECONDS)
            self._reader = connect(path, READER_PATIENCE_SECONDS)
        self._place = Place(path)
        self._translating = _InPlace(self._place)
        self._found_tokens = reader(self._find_tokens, MAX_JOBS_IN_A_BATCH)
        self._batcher: Batcher[Job, Any] = Batcher(self._run_batch, MAX_JOBS_IN_A_BATCH)

    @classmethod
    async def open(cls, path: Path, *, may_create: bool = True) -> Self:
        """Open the file; create it, or bring it up to date, first.

        Raises:
            StoreUnusable: It cannot be opened, is not feedkeep's, is newer than this program, is
                being restored, or is not there and may not be created.
            StoreUnavailable: It is locked or full.
        """
        if not may_create:
            assert_there(path)
        used = lock.use(path)
        try:
            await asyncio.to_thread(prepare, path)
            return cls(path, used)
        except BaseException:
            os.close(used)
            raise

    async def change(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
    ) -> T:
        if guids is None or len(guids) > entries.FEW_CHANGED:
            return await self._write_in_turns(entries.change, account_id, guids, decide)
        return await self._write(entries.change_few, account_id, guids, decide)

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        with self._translating:
            return entries.view(self._reader, account_id, guid)

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        with self._translating:
            short = entries.short_page(self._reader, account_id, request)
        if short is not None:
            return short
        return await self._scan(entries.page, account_id, request)

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        with self._translating:
            return entries.deletion(self._reader, account_id, deletion_id)

    async def whole(self, account_id: AccountId) -> Snapshot:
        return await self._scan(entries.whole, account_id)

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        with self._translating:
            few = apps.changed_if_few(self._reader, account_id, first)
        return few if few is not None else await self._scan(apps.changed, account_id, first)

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        return await self._write(apps.advance, account_id, clock, to)

    async def note_told(
        self, account_id: AccountId, token_id: int, clock: Clock, told: Told
    ) -> None:
        await self._write(apps.note_told, account_id, token_id, clock, told)

    async def record(
        self,
        account_id: AccountId,
        sent: Sequence[EpisodeAction],
        decide: DecideActions,
        until: Callable[[Stamp, Stamp], Stamp],
    ) -> tuple[Stamp, Stamp]:
        return await self._write_in_turns(apps.record, account_id, sent, decide, until)

    async def actions(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        return await self._scan(apps.actions, account_id, request)

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        return await self._scan(apps.last_of_each, account_id, request)

    async def documents(self, account_id: AccountId, kind: DocumentKind) -> Sequence[Document]:
        return await self._scan(apps.documents, account_id, kind)

    async def document(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        with self._translating:
            return apps.document(self._reader, account_id, kind, name)

    async def change_document(
        self,
        account_id: AccountId,
        kind: DocumentKind,
        name: str,
        decide: Callable[[str | None, int], str],
    ) -> str:
        return await self._write(apps.change_document, account_id, kind, name, decide)

    async def save_grant(self, account: Account, grant: Grant, forgotten_before: Stamp) -> bool:
        return await self._write(logins.save_grant, account, grant, forgotten_before)

    async def find_grant(self, login: bytes) -> Grant | None:
        with self._translating:
            return logins.find_grant(self._reader, login)

    async def fetch_grant(self, grant: Grant, token: Token, now: Stamp) -> Account | None:
        return await self._write(logins.fetch_grant, grant, token, now)

    async def find_token(
        self, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
    ) -> Found | None:
        return await self._found_tokens.submit((account_id, token_hash, guid))

    async def find_account(self, name_key: str) -> Account | None:
        with self._translating:
            return accounts.find_account(self._reader, name_key)

    async def accounts(self) -> Sequence[Account]:
        return await self._scan(accounts.accounts)

    async def has_accounts(self) -> bool:
        with self._translating:
            return accounts.has_any(self._reader)

    async def create_account(self, account: Account, name_key: str) -> None:
        await self._write(accounts.create, account, name_key)

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        await self._write(accounts.set_password, account_id, password_hash)

    async def set_disabled(self, account_id: AccountId, is_disabled: bool) -> None:
        await self._write(accounts.set_disabled, account_id, is_disabled)

    async def delete_account(self, account_id: AccountId) -> None:
        await self._write(accounts.delete, account_id)

    async def add_token(self, account_id: AccountId, token: Token) -> Token:
        return await self._write(accounts.add_token, account_id, token)

    async def add_session(
        self, account: Account, token: Token, most: int, most_alike: int
    ) -> Token:
        return await self._write(accounts.add_session, account, token, most, most_alike)

    async def extend_token(self, account_id: AccountId, token_id: int, expires: Stamp) -> None:
        await self._write(accounts.extend_token, account_id, token_id, expires)

    async def tokens(self, account_id: AccountId) -> Sequence[Token]:
        return await self._scan(accounts.tokens, account_id)

    async def revoke_token(self, account_id: AccountId, token_id: int, now: Stamp) -> Token | None:
        return await self._write(accounts.revoke_token, account_id, token_id, now)

    async def assert_ready(self) -> None:
        if damage := self._translating.damage:  # which does not heal: a new file needs a new start
            raise StoreDamaged(str(damage))
        with self._translating:
            self._reader.execute("SELECT id FROM account LIMIT 1").fetchall()
        # What is there already, written again: only a commit tells that there is room on the disk.
        await self._write(lambda connection: connection.pragma("application_id", APPLICATION_ID))

    async def damages(self) -> Sequence[str]:
        return await self._scan(damages)

    @asynccontextmanager
    async def archive(self) -> AsyncIterator[SqliteArchive]:
        with (
            self._translating,
            closing(connect(self._path, READER_PATIENCE_SECONDS)) as own,
        ):
            own.execute("BEGIN")
            yield SqliteArchive(own)

    async def fill(self, records: AsyncIterator[Records], check: Check | None = None) -> None:
        with (
            self._translating,
            closing(connect(self._path, WRITER_PATIENCE_SECONDS)) as own,
        ):
            own.execute("BEGIN IMMEDIATE")
            await archive.fill(own, records, check)
            own.execute("COMMIT")
            self._place.assert_kept()

    async def close(self) -> None:
        """Finish what was accepted, fold the WAL into the file, and let go of it."""
        await self._batcher.close()
        await self._found_tokens.close()
        with Translating():
            await asyncio.get_running_loop().run_in_executor(self._writing, self._close_writer)
            await asyncio.to_thread(self._scanning.shutdown)
            self._scanner.close()
            self._reader.close()
        self._writing.shutdown()
        os.close(self._used)

    async def _write(
        self,
        job: Callable[Concatenate[apsw.Connection, P], T],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        value: T = await self._batcher.submit(
            lambda connection: job(connection, *arguments, **named)
        )
        return value

    async def _write_in_turns(
        self,
        job: Callable[Concatenate[apsw.Connection, P], Turns[T]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        """Do what `_write` does, of work that may take long."""
        value: T = await self._batcher.submit(
            lambda connection: job(connection, *arguments, **named)
        )
        return value

    async def _find_tokens(
        self, wanted: Sequence[tuple[AccountId, bytes, Guid | None]]
    ) -> Sequence[Found | None]:
        """Find what all requests ask for that came together, in one transaction.

        It is what each of them begins with: so SQLite's code is warm after the first one, and its
        locks are taken once. With 32 clients that is a seventh more answers.
        """
        with self._translating:
            self._reader.execute("BEGIN")
            try:
                return [accounts.find_token(self._reader, *one) for one in wanted]
            finally:
                roll_back(self._reader)

    async def _scan(
        self,
        read: Callable[Concatenate[apsw.Connection, P], T],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        def scan() -> T:
            with self._translating:
                return read(self._scanner, *arguments, **named)

        # The thread would read on while what it has read waits for the event loop, in memory.
        async with self._may_scan:
            return await asyncio.get_running_loop().run_in_executor(self._scanning, scan)

    async def _run_batch(self, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        """Run the jobs in one transaction.

        What waits, for a lock or for the disk, has a thread of its own; what computes stays here.
        In the thread, each statement would give Python's lock away and wait for it on a busy
        process, up to 5 milliseconds.
        """
        with self._translating:
            await self._on_writers_thread(lambda: self._writer.execute("BEGIN IMMEDIATE"))
            try:
                outcomes = await self._run_jobs(jobs)
                await self._on_writers_thread(self._commit)
            except BaseException:
                roll_back(self._writer)
                raise
        return outcomes

    async def _run_jobs(self, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        outcomes: list[Outcome[Any]] = []
        turn = Turn()
        try:
            for job in jobs:
                try:
                    with self._translating:
                        value = job(self._writer)
                        if isinstance(value, Generator):
                            value = await self._through(turn, value)
                        outcomes.append(Done(value))
                except StoreUnavailable:
                    raise
                except FeedkeepError as error:
                    outcomes.append(error)
                await turn.end_if_long()
        except Exception as error:
            raise FailedBeforeCommit(error) from error
        return outcomes

    async def _through(self, turn: Turn, work: Turns[T]) -> T:
        """Do all of some work, or nothing of it: it may be refused when it has written already."""
        self._writer.execute("SAVEPOINT work")
        try:
            return await turn.through(work)
        except FeedkeepError:
            self._writer.execute("ROLLBACK TO work")
            raise
        finally:
            self._writer.execute("RELEASE work")

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except apsw.ConstraintError as error:  # a deferred check, and nothing was sent to the disk
            raise FailedBeforeCommit(error) from error
        self._place.assert_kept()  # after it: a commit to a file without a name is none

    async def _on_writers_thread(self, work: Callable[[], object]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._writing, work)

    def _close_writer(self) -> None:
        self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._writer.close()
