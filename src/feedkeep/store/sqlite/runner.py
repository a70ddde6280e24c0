"""What runs on a SQLite file, and where: one writer, whose work shares commits, and two readers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import apsw

from feedkeep.errors import FeedkeepError, StoreDamaged, StoreUnavailable
from feedkeep.model import T
from feedkeep.store.batch import Batcher, Done, FailedBeforeCommit, Outcome, reader
from feedkeep.store.sqlite.connection import (
    READER_PATIENCE_SECONDS,
    WRITER_PATIENCE_SECONDS,
    Translating,
    connect,
    roll_back,
)
from feedkeep.store.sqlite.place import Place
from feedkeep.turns import Turn, Turns

MAX_JOBS_IN_A_BATCH = 256

Job: TypeAlias = Callable[[apsw.Connection], T]
"""Work on a connection. What writes is inside a transaction.

It raises a `FeedkeepError` before its first write, or not at all.
"""


class _InPlace(Translating):
    """A context for what is asked of a database: it is refused while a file is not in its place."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __enter__(self) -> None:
        """Look whether the files are there, if nobody did lately."""
        self._place.assert_in_place_lately()


class Runner:
    """A SQLite file in WAL mode with `synchronous=FULL`; other processes may use it meanwhile.

    All writes of this process go through one connection, and share commits. What takes a few rows
    is done at once, by the caller's thread: that costs less than handing it over. What may take
    long has threads of its own: commits, and whatever scans, so that a long list holds nobody up.
    """

    def __init__(self, path: Path, lock_descriptor: int) -> None:
        """Open a file that `prepare` has brought up to date.

        `lock_descriptor` holds its lock, which is closed with the file.
        """
        self._path = path
        self._lock_descriptor = lock_descriptor
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._scanning = ThreadPoolExecutor(1, thread_name_prefix="sqlite-scanner")
        self._may_scan = asyncio.Semaphore(1)
        with Translating():
            self._writer = connect(path, WRITER_PATIENCE_SECONDS)
            self._scanner = connect(path, READER_PATIENCE_SECONDS)
            self._reader = connect(path, READER_PATIENCE_SECONDS)
        self._place = Place(path)
        self._translating = _InPlace(self._place)
        self._reads = reader(self._read_batch, MAX_JOBS_IN_A_BATCH)
        self._writes: Batcher[Job[Any], Any] = Batcher(self._run_batch, MAX_JOBS_IN_A_BATCH)

    async def write(self, job: Job[T]) -> T:
        """Do a job in a transaction; return its value when the commit is durable."""
        value: T = await self._writes.submit(job)
        return value

    async def write_in_turns(self, job: Job[Turns[T]]) -> T:
        """Do what `write` does, of work that may take longer than others should wait.

        It yields within a millisecond: then others have their turn, in the middle of the
        transaction. It may be refused at any time.
        """
        value: T = await self._writes.submit(job)
        return value

    def read(self, job: Job[T]) -> T:
        """Read a few rows at once."""
        with self._translating:
            return job(self._reader)

    async def read_together(self, job: Job[T]) -> T:
        """Do what `read` does, in one transaction with all that came together.

        It is for what each request begins with: so SQLite's code is warm after the first one, and
        its locks are taken once. With 32 clients that is a seventh more answers.
        """
        value: T = await self._reads.submit(job)
        return value

    async def scan(self, job: Job[T]) -> T:
        """Read what may take long, in a thread."""

        def scan() -> T:
            with self._translating:
                return job(self._scanner)

        # The thread would read on while what it has read waits for the event loop, in memory.
        async with self._may_scan:
            return await asyncio.get_running_loop().run_in_executor(self._scanning, scan)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Give a connection of the caller's own that sees the file as it is at one moment."""
        with self._translating, closing(connect(self._path, READER_PATIENCE_SECONDS)) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Give a connection of the caller's own in a transaction, which is committed at the end."""
        with self._translating, closing(connect(self._path, WRITER_PATIENCE_SECONDS)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
            self._place.assert_in_place()

    def assert_undamaged(self) -> None:
        """Return if no damage was seen; it does not heal: a new file needs a new start."""
        if damage := self._translating.damage:
            raise StoreDamaged(str(damage))

    async def close(self) -> None:
        """Finish what was accepted, fold the WAL into the file, and let go of it."""
        await self._writes.close()
        await self._reads.close()
        with Translating():
            await asyncio.get_running_loop().run_in_executor(self._writing, self._close_writer)
            await asyncio.to_thread(self._scanning.shutdown)
            self._scanner.close()
            self._reader.close()
        self._writing.shutdown()
        os.close(self._lock_descriptor)

    async def _read_batch(self, jobs: Sequence[Job[Any]]) -> Sequence[Any]:
        with self._translating:
            self._reader.execute("BEGIN")
            try:
                return [job(self._reader) for job in jobs]
            finally:
                roll_back(self._reader)

    async def _run_batch(self, jobs: Sequence[Job[Any]]) -> Sequence[Outcome[Any]]:
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

    async def _run_jobs(self, jobs: Sequence[Job[Any]]) -> Sequence[Outcome[Any]]:
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
        self._place.assert_in_place()  # after it: a commit to a file without a name is none

    async def _on_writers_thread(self, work: Callable[[], object]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._writing, work)

    def _close_writer(self) -> None:
        self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._writer.close()
