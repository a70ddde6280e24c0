"""Runs jobs on a PostgreSQL database, alone or together in one statement."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeAlias, TypeVar

import asyncpg

from feedkeep.model import AccountId, T
from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime.recorder import Recorder
from feedkeep.store import batch
from feedkeep.store.batch import (
    MAX_SHARE,
    MAX_WRITE_WEIGHT,
    Batcher,
    FailedBeforeCommit,
    Outcome,
    note_nothing,
)
from feedkeep.store.postgres.connections import CLOSE_SECONDS, Connections
from feedkeep.store.postgres.shape import Shape
from feedkeep.store.postgres.shards import MAX_FOUND_IN_A_BATCH, Shards, find_shards

J = TypeVar("J")

Read: TypeAlias = Callable[[Connections], Awaitable[T]]
"""Reads with single statements."""

Write: TypeAlias = Callable[[asyncpg.Connection], Awaitable[T]]
"""Work inside a transaction, which the caller begins and commits."""


class PostgresRunner:
    """A PostgreSQL database that any number of processes use concurrently.

    Attributes:
        connections: The connections, for work that must not be repeated.
    """

    def __init__(
        self,
        connections: Connections,
        max_connections: int,
        *,
        is_distributed: bool,
        recorder: Recorder | None = None,
    ) -> None:
        """Use a database that is already migrated; `recorder` counts batches."""
        self.shape = Shape(is_distributed)
        self.connections = connections
        self.max_connections = max_connections
        self._recorder = recorder
        self._note_failure = recorder.failed_commits.inc if recorder else note_nothing
        self._batchers: list[Batcher[Any, Any]] = []
        # Half of the connections stay free for look-ups by key, which must not wait for long lists.
        self._may_scan = asyncio.Semaphore(max(1, max_connections // 2))
        self._shards = None
        if connections.is_distributed:
            self._shards = Shards(self.reader(find_shards, MAX_FOUND_IN_A_BATCH).submit)

    async def read(self, job: Read[T]) -> T:
        """Run a read, and retry once after a possibly temporary failure."""
        return await repeated(lambda: job(self.connections))

    async def scan(self, job: Read[T]) -> T:
        """Run a long read as `read` does, without delaying look-ups by key."""
        async with self._may_scan:
            return await self.read(job)

    async def write(self, job: Write[T]) -> T:
        """Run a job in a transaction, and retry once if it changed nothing; return its value."""
        try:
            return await repeated(lambda: self.connections.transact(job))
        except StoreUnavailable:
            self._note_failure()
            raise

    def reader(
        self,
        read: Callable[[Connections, Sequence[J]], Awaitable[Sequence[T]]],
        max_weight: int,
    ) -> Batcher[J, T]:
        """Return a batcher for concurrent reads of one kind; it is closed with the runner."""
        batches = self._recorder.reads if self._recorder else None
        joined: Batcher[J, T] = batch.reader(
            lambda wanted: read(self.connections, wanted), max_weight, batches
        )
        self._batchers.append(joined)
        return joined

    def writer(
        self, run: Callable[[Sequence[J]], Awaitable[Sequence[Outcome[Any]]]]
    ) -> Batcher[J, Any]:
        """Return a batcher for concurrent writes of one kind; it is closed with the runner."""
        batches = self._recorder.writes if self._recorder else None
        joined: Batcher[J, Any] = Batcher(
            run, MAX_WRITE_WEIGHT, MAX_SHARE, batches, self._note_failure
        )
        self._batchers.append(joined)
        return joined

    async def key(self, account_id: AccountId) -> Hashable:
        """Return the key of a job's batch; on a cluster, its account's shard."""
        return await self._shards.of(account_id) if self._shards else None

    async def close(self) -> None:
        """Finish the accepted jobs, unless PostgreSQL does not respond; close the connections."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for batcher in self._batchers:
                    await batcher.close()
        await self.connections.close()


async def repeated(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work`; retry once if it failed before it could change anything."""
    try:
        return await work()
    except FailedBeforeCommit:
        try:
            return await work()
        except FailedBeforeCommit as failure:
            raise failure.cause from failure
