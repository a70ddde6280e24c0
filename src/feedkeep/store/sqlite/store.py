"""`SqliteStore`: the Store protocol over one writer thread and readers that never wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, Self

import apsw

from feedkeep.errors import FeedkeepError, StoreDamaged, StoreUnavailable
from feedkeep.model import (
    Account,
    AccountId,
    Decision,
    Deletion,
    Found,
    Guid,
    Page,
    PageRequest,
    Records,
    Snapshot,
    Stamp,
    T,
    Token,
    View,
)
from feedkeep.store.base import Check
from feedkeep.store.batch import Batcher, Done, FailedBeforeCommit, Outcome, reader
from feedkeep.store.sqlite import accounts, archive, entries
from feedkeep.store.sqlite.archive import SqliteArchive
from feedkeep.store.sqlite.connection import (
    APPLICATION_ID,
    READER_PATIENCE_SECONDS,
    WRITER_PATIENCE_SECONDS,
    Translating,
    connect,
    damages,
    prepare,
    roll_back,
)

MAX_JOBS_IN_A_BATCH = 256

LONGEST_TURN_SECONDS = 0.001
"""After how long a batch lets other requests have their turn, at the end of a job."""

Job = Callable[[apsw.Connection], Any]
"""Work inside a transaction. It raises a `FeedkeepError` before its first write, or not at all."""


class SqliteStore:
    """A SQLite file in WAL mode with `synchronous=FULL`; other processes may use it meanwhile.

    All writes of this process go through one connection, and share commits. What takes a few rows
    is done at once, by the caller's thread: that costs less than handing it over. What may take
    long has threads of its own: commits, and whatever scans, so that a long list holds nobody up.
    """

    def __init__(self, path: Path) -> None:
        """Open a file that `prepare` has brought up to date; use `open` instead."""
        self._path = path
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._scanning = ThreadPoolExecutor(1, thread_name_prefix="sqlite-scanner")
        self._translating = Translating()
        with self._translating:
            self._writer = connect(path, WRITER_PATIENCE_SECONDS)
            self._scanner = connect(path, READER_PATIENCE_SECONDS)
            self._reader = connect(path, READER_PATIENCE_SECONDS)
        self._found_tokens = reader(self._find_tokens, MAX_JOBS_IN_A_BATCH)
        self._batcher: Batcher[Job, Any] = Batcher(self._run_batch, MAX_JOBS_IN_A_BATCH)

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open the file; create it, or bring it up to date, first.

        Raises:
            StoreUnusable: It cannot be opened, is not feedkeep's, or is newer than this program.
            StoreUnavailable: It is locked or full.
        """
        await asyncio.to_thread(prepare, path)
        return cls(path)

    async def change(
        self,
        account_id: AccountId,
        guids: Sequence[Guid],
        decide: Callable[[Snapshot], Decision[T]],
    ) -> T:
        def job(connection: apsw.Connection) -> T:
            return entries.change(connection, account_id, guids, decide)

        return await self._write(job)

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        with self._translating:
            return entries.view(self._reader, account_id, guid)

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        with self._translating:
            short = entries.short_page(self._reader, account_id, request)
        if short is not None:
            return short
        return await self._scan(partial(entries.page, account_id=account_id, request=request))

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        with self._translating:
            return entries.deletion(self._reader, account_id, deletion_id)

    async def whole(self, account_id: AccountId) -> Snapshot:
        return await self._scan(partial(entries.whole, account_id=account_id))

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
        await self._write(partial(accounts.create, account=account, name_key=name_key))

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        await self._write(
            partial(accounts.set_password, account_id=account_id, password_hash=password_hash)
        )

    async def set_disabled(self, account_id: AccountId, is_disabled: bool) -> None:
        await self._write(
            partial(accounts.set_disabled, account_id=account_id, is_disabled=is_disabled)
        )

    async def delete_account(self, account_id: AccountId) -> None:
        await self._write(partial(accounts.delete, account_id=account_id))

    async def add_token(self, account_id: AccountId, token: Token) -> Token:
        return await self._write(partial(accounts.add_token, account_id=account_id, token=token))

    async def tokens(self, account_id: AccountId) -> Sequence[Token]:
        return await self._scan(partial(accounts.tokens, account_id=account_id))

    async def revoke_token(self, account_id: AccountId, token_id: int, now: Stamp) -> Token | None:
        return await self._write(
            partial(accounts.revoke_token, account_id=account_id, token_id=token_id, now=now)
        )

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

    async def close(self) -> None:
        """Finish what was accepted, fold the WAL into the file, and let go of it."""
        await self._batcher.close()
        await self._found_tokens.close()
        with self._translating:
            await asyncio.get_running_loop().run_in_executor(self._writing, self._close_writer)
            await asyncio.to_thread(self._scanning.shutdown)
            self._scanner.close()
            self._reader.close()
        self._writing.shutdown()

    async def _write(self, job: Callable[[apsw.Connection], T]) -> T:
        value: T = await self._batcher.submit(job)
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

    async def _scan(self, read: Callable[[apsw.Connection], T]) -> T:
        def scan() -> T:
            with self._translating:
                return read(self._scanner)

        return await asyncio.get_running_loop().run_in_executor(self._scanning, scan)

    async def _run_batch(self, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        """Run the jobs in one transaction.

        What waits, for a lock or for the disk, has a thread of its own; what computes stays here.
        In the thread, each statement would give Python's lock away and wait for it on a busy
        process, up to 5 milliseconds.
        """
        with self._translating:
            await self._on_writers_thread(self._writer.execute, "BEGIN IMMEDIATE")
            try:
                outcomes = await self._run_jobs(jobs)
                await self._on_writers_thread(self._commit)
            except BaseException:
                roll_back(self._writer)
                raise
        return outcomes

    async def _run_jobs(self, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        outcomes: list[Outcome[Any]] = []
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            for job in jobs:
                try:
                    with self._translating:
                        outcomes.append(Done(job(self._writer)))
                except StoreUnavailable:
                    raise
                except FeedkeepError as error:
                    outcomes.append(error)
                if loop.time() - begun > LONGEST_TURN_SECONDS:
                    await asyncio.sleep(0)
                    begun = loop.time()
        except Exception as error:
            raise FailedBeforeCommit(error) from error
        return outcomes

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except apsw.ConstraintError as error:  # a deferred check, and nothing was sent to the disk
            raise FailedBeforeCommit(error) from error

    async def _on_writers_thread(self, work: Callable[..., object], *arguments: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._writing, work, *arguments)

    def _close_writer(self) -> None:
        self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._writer.close()
