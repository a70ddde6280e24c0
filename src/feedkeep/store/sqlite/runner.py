"""Runs jobs on a SQLite file: one connection writes, in shared commits, and two read."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import GeneratorType
from typing import Any, TypeAlias

import apsw
import structlog

from feedkeep.model import AccountId, T
from feedkeep.model.errors import FeedkeepError, StoreDamaged, StoreUnavailable
from feedkeep.runtime.cooperative import TimeSlice, Yielding
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.base import Files
from feedkeep.store.batch import (
    MAX_SHARE,
    MAX_WRITE_WEIGHT,
    Batcher,
    Done,
    FailedBeforeCommit,
    Outcome,
    note_nothing,
    reader,
)
from feedkeep.store.sqlite.checkpoints import Checkpoints
from feedkeep.store.sqlite.connection import (
    READER_PATIENCE_SECONDS,
    WRITER_PATIENCE_SECONDS,
    connect,
    roll_back,
)
from feedkeep.store.sqlite.errors import Translating, read_only
from feedkeep.store.sqlite.file_identity import FileIdentity
from feedkeep.store.sqlite.reading import connect_to_read, write_nothing_new
from feedkeep.store.sqlite.turns import WriteTurns

MAX_READS_IN_A_BATCH = 256

MAX_PARTS_IN_A_BATCH = 100
"""Number of parts after which a batch begins no further job; a part has up to 20 rows."""

TRIED_EACH_SECONDS = 1.0
"""Interval between attempts to write a file whose disk accepts no writes."""

Job: TypeAlias = Callable[[apsw.Connection], T]
"""Work on a connection; a job that writes runs inside a transaction.

It must raise a `FeedkeepError` before its first write, since the transaction is shared. A later one
rolls back the transaction, and its jobs run again, one by one. A job for which that is usual is
passed to `undone_if_refused`.
"""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class _Undone(Exception):
    """A job raised `error`, and its writes were rolled back."""

    def __init__(self, error: FeedkeepError) -> None:
        super().__init__(str(error))
        self.error = error


def undone_if_refused(job: Job[Yielding[T]]) -> Job[Yielding[T]]:
    """Return a job that may raise a `FeedkeepError` at any time, which rolls back its writes."""

    def whole(connection: apsw.Connection) -> Yielding[T]:
        connection.execute("SAVEPOINT work")
        try:
            value = yield from job(connection)
        except FeedkeepError as error:
            connection.execute("ROLLBACK TO work")
            connection.execute("RELEASE work")
            raise _Undone(error) from error
        # After any other error the batch is rolled back. A full disk has already done so, and then
        # the savepoint no longer exists.
        connection.execute("RELEASE work")
        return value

    return whole


class _InPlace(Translating):
    """Context manager for statements; rejects them while a file of the database is not in place."""

    def __init__(self, place: FileIdentity) -> None:
        self.place = place

    def __enter__(self) -> None:
        self.place.assert_in_place_lately()


class SqliteRunner:
    """A SQLite file in WAL mode with `synchronous=FULL`, which other processes may use, too.

    All writes of this process use one connection, and share commits. A read of a few rows runs in
    the caller's thread, which costs less than passing it on. Slow work has its own threads:
    commits, and reads of long lists, so that they delay no other request.

    Args:
        path: A file that `prepare` has migrated.
        lock_descriptor: Holds its lock, which is closed with the file.
        recorder: Counts batches and commits.
        takes_writes: False to only read the file until its disk accepts writes again.
    """

    _writer: apsw.Connection
    _scanner: apsw.Connection
    _reader: apsw.Connection
    _checkpoints: Checkpoints
    _turns: WriteTurns

    def __init__(
        self,
        path: Path,
        lock_descriptor: int,
        recorder: Recorder | None = None,
        *,
        takes_writes: bool = True,
    ) -> None:
        self._path = path
        self._lock_descriptor = lock_descriptor
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._scanning = ThreadPoolExecutor(1, thread_name_prefix="sqlite-scanner")
        self._may_scan = asyncio.Semaphore(1)
        self._next_try = 0.0
        with Translating():
            if takes_writes:
                self._open()
            else:
                self._open_to_read()
        self._translating = _InPlace(FileIdentity(path))
        self._commits = recorder.commits if recorder else None
        self._reads = reader(
            self._read_batch, MAX_READS_IN_A_BATCH, batches=recorder.reads if recorder else None
        )
        self._writes: Batcher[Job[Any], Any] = Batcher(
            self._run_batch,
            MAX_WRITE_WEIGHT,
            MAX_SHARE,
            batches=recorder.writes if recorder else None,
            note_failure=recorder.failed_commits.inc if recorder else note_nothing,
            begin=self._begin,
        )

    def write(
        self, job: Job[T], account_id: AccountId | None = None, weight: int = 1
    ) -> Awaitable[T]:
        """Run a job in a transaction; return its value once the commit is durable.

        Jobs of `account_id`, or of no account, take turns with those of others. `weight` is the
        number of rows that the job names, which counts for the account's share.
        """
        return self._writes.submit(job, owner=account_id, weight=weight)

    def write_in_turns(
        self, job: Job[Yielding[T]], account_id: AccountId | None = None, weight: int = 1
    ) -> Awaitable[T]:
        """As `write`, for work that may take longer than other tasks should wait.

        The work must yield at least once a millisecond; other tasks run then, in the middle of the
        transaction.
        """
        return self._writes.submit(job, owner=account_id, weight=weight)

    def read(self, job: Job[T]) -> T:
        """Read a few rows, in the caller's thread."""
        with self._translating:
            return job(self._reader)

    def read_together(self, job: Job[T]) -> Awaitable[T]:
        """As `read`, in one transaction with all reads that came at the same time.

        It is for the query that each request begins with. SQLite's locks are acquired once for all,
        and its code is in the processor's cache after the first one: with 32 clients, a seventh
        more requests are answered.
        """
        return self._reads.submit(job)

    async def scan(self, job: Job[T]) -> T:
        """Run a long read in a separate thread."""

        def scan() -> T:
            with self._translating:
                return job(self._scanner)

        # Otherwise, while the event loop is busy, results of the thread would pile up in memory.
        async with self._may_scan:
            return await asyncio.get_running_loop().run_in_executor(self._scanning, scan)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Context manager: a new connection that sees the file as of one moment."""
        with self._translating, closing(self._connect_to_read()) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Context manager: a new connection in a transaction, which is committed at the end."""
        with self._translating, closing(connect(self._path, WRITER_PATIENCE_SECONDS)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
            self._translating.place.assert_in_place()

    @property
    def path(self) -> Path:
        return self._path

    def files(self) -> Files:
        """Return the sizes of the file and its write-ahead log, and the free disk space."""
        data = self._path.resolve()  # SQLite puts the log beside the file that a link points to
        log = data.with_name(f"{data.name}-wal")
        return Files(_size_of(data), _size_of(log), _room_in(data.parent))

    def assert_undamaged(self) -> None:
        """Check that no damage was noticed since the start.

        Raises:
            StoreDamaged: Damage was noticed. It does not heal: a repaired file needs a restart.
        """
        if damage := self._translating.damage:
            raise StoreDamaged(str(damage))

    async def close(self) -> None:
        """Complete the accepted jobs, move the write-ahead log into the file, and close it."""
        await self._writes.close()
        await self._reads.close()
        with Translating():
            if self._takes_writes:
                await self._checkpoints.close()
                await self._empty_log()
                await self._on_writers_thread(self._writer.close)
                self._turns.close()
            await asyncio.to_thread(self._scanning.shutdown)
            self._scanner.close()
            self._reader.close()
        self._writing.shutdown()
        os.close(self._lock_descriptor)

    def _open(self) -> None:
        with ExitStack() as opened:
            self._writer, self._scanner, self._reader = (
                opened.enter_context(closing(connect(self._path, seconds)))
                for seconds in (
                    WRITER_PATIENCE_SECONDS,
                    READER_PATIENCE_SECONDS,
                    READER_PATIENCE_SECONDS,
                )
            )
            self._turns = opened.enter_context(closing(WriteTurns(self._path)))
            self._checkpoints = Checkpoints(self._path, self._writer)
            opened.pop_all()
        self._takes_writes = True

    def _open_to_read(self) -> None:
        self._scanner = connect_to_read(self._path)
        self._reader = connect_to_read(self._path)
        self._takes_writes = False

    def _connect_to_read(self) -> apsw.Connection:
        if self._takes_writes:
            return connect(self._path, READER_PATIENCE_SECONDS)
        return connect_to_read(self._path)

    async def _become_writable(self) -> None:
        """Reopen the file to write, if its disk accepts writes again; tried once a second.

        Raises:
            StoreReadOnly: It does not, or the system has no file or thread left.
        """
        now = asyncio.get_running_loop().time()
        if now < self._next_try:
            raise read_only()
        async with self._may_scan:
            self._next_try = now + TRIED_EACH_SECONDS
            try:
                with closing(WriteTurns(self._path)) as turns:
                    await turns.take()  # other processes may already be writing without a pause
                    self._open_to_write()
            except (apsw.Error, OSError, RuntimeError, FeedkeepError) as error:
                raise read_only() from error
        _log.warning("database writable again")

    def _open_to_write(self) -> None:
        """Reopen to write a file that is open to read, if its disk accepts writes again.

        No other task reads at that time. All connections of a process share SQLite's state of the
        log, so the ones that cannot write it are closed first.
        """
        try:
            self._scanner.close()
            self._reader.close()
            write_nothing_new(self._path)
            self._open()
        except Exception:  # reads continue after any error
            self._open_to_read()
            raise
        finally:
            self._translating.place = FileIdentity(self._path)

    async def _read_batch(self, jobs: Sequence[Job[Any]]) -> Sequence[Any]:
        with self._translating:
            self._reader.execute("BEGIN")
            try:
                return [job(self._reader) for job in jobs]
            finally:
                roll_back(self._reader)

    async def _begin(self) -> None:
        """Begin a transaction, once it is the turn of this process."""
        if not self._takes_writes:
            await self._become_writable()
        with self._translating:
            await self._turns.take()
            try:
                await self._checkpoints.keep_short()  # no other process extends the log now
                await self._lock()
            except BaseException:
                self._end()
                raise

    async def _lock(self) -> None:
        """Start a transaction; the lock is free unless a process writes without its turn."""
        self._writer.set_busy_timeout(0)
        try:
            with suppress(apsw.BusyError):
                self._writer.execute("BEGIN IMMEDIATE")
        finally:
            self._writer.set_busy_timeout(int(WRITER_PATIENCE_SECONDS * 1_000))
        if not self._writer.in_transaction:
            await self._on_writers_thread(lambda: self._writer.execute("BEGIN IMMEDIATE"))

    async def _run_batch(self, jobs: Sequence[Job[Any]]) -> Sequence[Outcome[Any]]:
        """Run the jobs in the current transaction, or only the first if they have much to do.

        COMMIT waits for the disk, so it runs in a thread. All statements before it run here: in the
        thread, each would release Python's lock, which a busy process returns only after up to 5
        milliseconds.
        """
        with Translating():
            try:
                with self._translating:  # rejects all jobs if a file has lost its name
                    outcomes = await self._run_jobs(jobs)
                    began = time.perf_counter()
                    await self._on_writers_thread(self._commit)
                    if self._commits:
                        self._commits.observe(time.perf_counter() - began)
            finally:
                self._end()
        return outcomes

    def _end(self) -> None:
        """End the transaction, if it has not ended, and the turn of this process."""
        try:
            roll_back(self._writer)
        finally:
            self._turns.give()
            self._checkpoints.begin_if_due()

    async def _run_jobs(self, jobs: Sequence[Job[Any]]) -> Sequence[Outcome[Any]]:
        outcomes: list[Outcome[Any]] = []
        turn = TimeSlice()
        try:
            for job in jobs:
                written_before = self._writer.total_changes()
                try:
                    with self._translating:
                        value = job(self._writer)
                        if isinstance(value, GeneratorType):
                            value = await turn.through(value)
                        outcomes.append(Done(value))
                except StoreUnavailable:  # the disk or the file fails, not this job
                    raise
                except _Undone as undone:
                    outcomes.append(undone.error)
                except FeedkeepError as error:
                    if self._writer.total_changes() != written_before:
                        raise
                    outcomes.append(error)
                await turn.yield_if_long()
                if turn.parts >= MAX_PARTS_IN_A_BATCH:
                    break  # the amount that a job loads is known only afterwards
        except Exception as error:
            raise FailedBeforeCommit(error) from error
        return outcomes

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except apsw.ConstraintError as error:  # a foreign key; nothing was written
            raise FailedBeforeCommit(error) from error
        # Here and not on the event loop, which may be busy: the next process waits for it.
        self._turns.give()
        # Not earlier: the file may be deleted until the commit is done.
        self._translating.place.assert_in_place()

    async def _on_writers_thread(self, work: Callable[[], object]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._writing, work)

    async def _empty_log(self) -> None:
        """Move the log into the file and empty it, unless other processes are in the way.

        A full disk may have no space for that. Then the log stays, with all committed data: a
        command must still succeed at its end, and a service still start in order to serve reads.
        """
        # While it waits for readers, nobody can write.
        self._writer.set_busy_timeout(int(READER_PATIENCE_SECONDS * 1_000))
        await self._turns.take()
        try:
            with suppress(apsw.Error):
                await self._on_writers_thread(
                    lambda: self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                )
        finally:
            self._turns.give()


def _size_of(file: Path) -> int:
    with suppress(OSError):  # it may be missing
        return file.stat().st_size
    return 0


def _room_in(folder: Path) -> int:
    with suppress(OSError):
        space = os.statvfs(folder)
        return space.f_bavail * space.f_frsize
    return 0
