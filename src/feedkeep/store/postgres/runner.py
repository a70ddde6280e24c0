"""Runs jobs on PostgreSQL, alone, in one statement or by shard; implements `store.driver`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable, Sequence
from contextlib import asynccontextmanager
from operator import methodcaller
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import asyncpg

from feedkeep.model import Account, AccountId, Guid, T
from feedkeep.model.errors import AccountBusy, StoreUnavailable
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
from feedkeep.store.driver import Driver, Job, Statements
from feedkeep.store.postgres.connections import CLOSE_SECONDS, Connections
from feedkeep.store.postgres.counted import changed_rows
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.shape import Shape, as_columns
from feedkeep.store.rows import Row, account_of, in_parts
from feedkeep.store.sql import Sql, one_row_form, sql
from feedkeep.store.tables import ACCOUNT_COLUMNS

REMEMBERED_SECONDS = 60.0
"""Lifetime of a cached shard: shards move as a whole, but a split shard has fewer accounts."""

MAX_REMEMBERED = 50_000
"""Capacity of the cache, in accounts: some megabytes."""

MAX_FOUND_IN_A_BATCH = 256

_FIND = """
SELECT get_shard_id_for_distribution_column('feedkeep.account', w.account_id)
FROM unnest($1::bigint[]) WITH ORDINALITY AS w (account_id, n) ORDER BY w.n
"""


async def find_shards(connections: Connections, account_ids: Sequence[AccountId]) -> Sequence[int]:
    """Return the number of each account's shard, as computed by a Citus coordinator.

    Accounts that do not exist have a shard, too.
    """
    return [shard for (shard,) in await connections.fetch(_FIND, account_ids)]


class Shards:
    """Cache of the shards of accounts.

    A shard is on one machine, so a transaction within it commits in one phase. After a split,
    statements for accounts of both halves fail until the cached value expires. Requests then run
    one by one (`store.batch`); that a token was used is recorded with its next use.
    """

    def __init__(self, find: Callable[[AccountId], Awaitable[int]]) -> None:
        self._find = find
        self._known: dict[AccountId, int] = {}
        self._known_since = time.monotonic()

    async def of(self, account_id: AccountId) -> int:
        now = time.monotonic()
        if now > self._known_since + REMEMBERED_SECONDS or len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
            self._known_since = now
        shard = self._known.get(account_id)
        if shard is None:
            shard = self._known[account_id] = await self._find(account_id)
        return shard


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


_GUIDS_AT_ONCE = 100
"""Maximum number of guids per statement; with many more, PostgreSQL reads the whole table."""

TURN_SECONDS = 5.0
"""Maximum time that a job waits for earlier jobs of the same account in this process."""

_HOLD = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1 FOR NO KEY UPDATE
""")
# Rules about all accounts together have no row to lock: whoever revokes administrator rights or
# creates the first account takes this lock, the letters "fkad".
_LOCK_OUT_OTHERS = sql(f"SELECT pg_advisory_xact_lock({0x666B6164})")


class PostgresDriver(Driver):
    """Runs each job in its own transaction.

    The jobs of an account take turns before they take a connection. PostgreSQL would serialize
    them, too, but each waiting job would hold a connection that another account could use, and the
    lock timeout would apply to the jobs of all processes together.
    """

    rows = ROWS
    rows_at_once = 250  # a statement of some milliseconds

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner
        self.is_distributed = runner.shape.is_distributed
        self._turns: WeakValueDictionary[AccountId, asyncio.Lock] = WeakValueDictionary()

    async def read(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        return await self._runner.read(lambda database: database.fetch(statement, *arguments))

    async def scan(self, statement: Sql, *arguments: Any) -> Sequence[Row]:
        return await self._runner.scan(lambda database: database.fetch(statement, *arguments))

    async def find_guids(self, statement: Sql, guids: Collection[Guid]) -> Sequence[Row]:
        async def read(database: Connections) -> Sequence[Row]:
            parts = in_parts([*guids], _GUIDS_AT_ONCE)
            return [row for some in parts for row in await database.fetch(statement, some)]

        return await self._runner.scan(read)

    async def find_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> Sequence[Row]:
        arguments = (*shared, *as_columns(rows))
        return await self._runner.scan(lambda database: database.fetch(statement, *arguments))

    async def write(self, job: Job[T], account_id: AccountId | None = None) -> T:
        """Run a job, in turn with other jobs of an account; return its value once it is durable.

        Raises:
            AccountBusy: The earlier jobs of the account took too long.
        """
        if account_id is None:
            return await self._runner.write(job)
        async with self._turn_of(account_id):
            return await self._runner.write(job)

    async def write_rows(self, statement: Sql, rows: Sequence[Row], *shared: Any) -> int:
        one_row = one_row_form(statement)
        if self.is_distributed or one_row == statement:
            jobs = [methodcaller("execute", one_row, *row, *shared) for row in rows]
        else:
            jobs = [
                methodcaller("execute", statement, *as_columns(some), *shared)
                for some in in_parts(rows, _GUIDS_AT_ONCE)
            ]
        return sum([changed_rows(await self._runner.write(job)) for job in jobs])

    @asynccontextmanager
    async def _turn_of(self, account_id: AccountId) -> AsyncIterator[None]:
        # A lock is kept while a job waits or runs, and dropped after the last of them.
        turn = self._turns.setdefault(account_id, asyncio.Lock())
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await turn.acquire()
        except TimeoutError:
            raise AccountBusy("The account's earlier changes take too long.") from None
        try:
            yield
        finally:
            turn.release()

    async def pause(self) -> None:
        """No effect: other tasks run while the server executes a statement."""

    async def lock_out_others(self, statements: Statements) -> None:
        await statements.execute(_LOCK_OUT_OTHERS)

    async def _hold(self, statements: Statements, account_id: AccountId) -> Account | None:
        """Lock an account's row; later statements see all that was committed before."""
        row = await statements.fetchrow(_HOLD, account_id)
        return account_of(row) if row else None
