"""Group commit: queued jobs run together in one transaction. Contains no SQL.

A batch takes the jobs queued when the previous batch ends, up to a share per account, in turns.
There is no timer: without load a batch is one job; under load many jobs share the cost of a durable
commit or of a query.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeAlias, TypeVar

from feedkeep.model import Guid, Stamp, T, Value
from feedkeep.model.errors import FeedkeepError, StoreUnavailable
from feedkeep.runtime.recorder import Batches

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Queued items, each with a weight and an owner.

    A batch has a weight of up to `max_share` per owner, in turn, and up to `max_weight` in total.
    An item heavier than a share is bulk and gets its own batch: bulk batches alternate with shared
    batches, and their owners take turns, too. So other items wait for one bulk batch at most,
    however much bulk one owner has queued.
    """

    def __init__(self, max_weight: int, max_share: int) -> None:
        self._max_weight = max_weight
        self._max_share = max_share
        self._shared: OrderedDict[Hashable, deque[tuple[int, Item]]] = OrderedDict()
        self._bulk: dict[Hashable, deque[tuple[int, Item]]] = {}
        self._is_turn_of_bulk = False

    def __bool__(self) -> bool:
        return bool(self._shared or self._bulk)

    def __iter__(self) -> Iterator[Item]:
        for items in chain(self._shared.values(), self._bulk.values()):
            yield from (item for _, item in items)

    def add(self, item: Item, weight: int, owner: Hashable) -> None:
        """Queue an item behind the owner's other items."""
        queues = self._bulk if weight > self._max_share else self._shared
        queue = queues.get(owner)
        if queue is None:
            queue = queues[owner] = deque()
        queue.append((weight, item))

    def put_back(self, item: Item, weight: int, owner: Hashable) -> None:
        """Queue an item again, before all others, because its batch ended before it ran."""
        self._shared.setdefault(owner, deque()).appendleft((weight, item))
        self._shared.move_to_end(owner, last=False)

    def next_batch(self) -> list[Item]:
        """Remove and return the items of the next batch; an empty list if nothing is queued."""
        is_bulk = bool(self._bulk) and (self._is_turn_of_bulk or not self._shared)
        self._is_turn_of_bulk = not is_bulk
        return self._next_bulk() if is_bulk else self._next_shares()

    def _next_bulk(self) -> list[Item]:
        owner = next(iter(self._bulk))
        queue = self._bulk.pop(owner)
        _, item = queue.popleft()
        if queue:
            self._bulk[owner] = queue
        return [item]

    def _next_shares(self) -> list[Item]:
        batch: list[Item] = []
        room = self._max_weight
        for owner in list(self._shared):
            queue = self._shared[owner]
            share = left = min(room, self._max_share)
            while queue and queue[0][0] <= left:
                weight, item = queue.popleft()
                batch.append(item)
                left -= weight
            if queue and left == share:  # it leads the next batch, not to be overtaken
                break
            room -= share - left
            del self._shared[owner]
            if queue:
                self._shared[owner] = queue
        return batch


MAX_WRITE_WEIGHT = 1_000
"""Maximum weight, in rows, of a batch of writes."""

MAX_SHARE = 250
"""Maximum weight of one account's jobs in it; a heavier job is bulk and gets its own batch."""

Job = TypeVar("Job")


class Done(Value, Generic[T], frozen=True):
    """The result of a job that succeeded."""

    value: T


Outcome: TypeAlias = Done[T] | Exception
"""The result of a job, or the error of this job only."""


class _Queued(Value, Generic[Job, T], frozen=True):
    job: Job
    answer: asyncio.Future[T]
    since: float
    weight: int
    owner: Hashable


class FailedBeforeCommit(Exception):
    """A transaction failed with `cause` before its commit was sent, so a retry is safe."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def weight_of_change(guids: Sequence[Guid] | None, history_from: Stamp | None = None) -> int:
    """Return the number of rows that a change names; a change of a whole account is bulk."""
    if guids is None or history_from is not None:
        return MAX_WRITE_WEIGHT
    return len(guids)


def note_nothing() -> None:
    """Do not count a failed transaction."""


async def wait_for_nothing() -> None:
    """Do not wait before a batch."""


class Batcher(Generic[Job, T]):
    """Runs jobs in batches, one batch at a time per key.

    Args:
        run: Runs jobs in one transaction and returns their outcomes, in order. If the first jobs
            turn out to be heavy, it may return fewer outcomes, but at least one; the remaining jobs
            lead the next batch. If it raises `FailedBeforeCommit`, each job is retried once, alone;
            any other exception fails all jobs of the batch.
        max_share: Maximum weight of one owner in a batch (`FairQueue`). Default: `max_weight`.
        note_failure: Called for each transaction that failed and is not retried.
        begin: Awaited before each batch, such as for a lock; an error fails the batch. Jobs queued
            while it waits join the batch, and `run` follows without a pause.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Job]], Awaitable[Sequence[Outcome[T]]]],
        max_weight: int,
        max_share: int | None = None,
        batches: Batches | None = None,
        note_failure: Callable[[], None] = note_nothing,
        begin: Callable[[], Awaitable[None]] = wait_for_nothing,
    ) -> None:
        self._note_failure = note_failure
        self._begin = begin
        self._run = run
        self._max_weight = max_weight
        self._max_share = max_weight if max_share is None else max_share
        self._batches = batches
        self._queues: dict[Hashable, FairQueue[_Queued[Job, T]]] = {}
        self._workers: dict[Hashable, asyncio.Task[None]] = {}
        self._is_closed = False

    async def submit(
        self, job: Job, key: Hashable = None, *, owner: Hashable = None, weight: int = 1
    ) -> T:
        """Run a job in a later batch of `key`; return its result or raise its error.

        The job takes `weight` of its owner's share.
        """
        if self._is_closed:
            raise StoreUnavailable("The store is closed: the service is stopping.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        since = time.perf_counter() if self._batches else 0.0
        queue = self._queues.get(key)
        if queue is None:  # a key has a worker exactly while it has a queue
            queue = self._queues[key] = FairQueue(self._max_weight, self._max_share)
            self._workers[key] = asyncio.create_task(self._work(key))
        queue.add(_Queued(job, answer, since, weight, owner), weight, owner)
        try:
            return await answer
        finally:
            del answer  # its error has this frame, and with it would stay until a full collection

    async def close(self) -> None:
        """Reject new jobs, and wait for the queued ones."""
        self._is_closed = True
        await asyncio.gather(*self._workers.values(), return_exceptions=True)

    async def _work(self, key: Hashable) -> None:
        queue = self._queues[key]
        batch: list[_Queued[Job, T]] = []
        try:
            while queue:
                try:
                    await self._begin()
                except Exception as error:  # noqa: BLE001 - every caller needs an answer
                    self._note_failure()
                    batch = queue.next_batch()
                    outcomes: Sequence[Outcome[T]] = [error] * len(batch)
                else:
                    batch = queue.next_batch()
                    self._count(batch)
                    outcomes = await self._outcomes([queued.job for queued in batch])
                    if not outcomes:  # would loop forever
                        raise RuntimeError("A batch ran none of its jobs.")
                done = len(outcomes)
                for queued, outcome in zip(batch[:done], outcomes, strict=True):
                    _answer(queued.answer, outcome)
                for queued in reversed(batch[done:]):
                    queue.put_back(queued, queued.weight, queued.owner)
        finally:
            del self._queues[key], self._workers[key]
            # After a defect in `run`, callers would otherwise wait forever.
            for queued in (*batch, *queue):
                if not queued.answer.done():
                    queued.answer.set_exception(self._unanswered())

    def _count(self, batch: Sequence[_Queued[Job, T]]) -> None:
        if self._batches:
            since = min(queued.since for queued in batch)
            self._batches.jobs.observe(len(batch))
            self._batches.waits.observe(time.perf_counter() - since)

    def _unanswered(self) -> Exception:
        if self._is_closed:
            return StoreUnavailable("The service stopped before the store answered.")
        return RuntimeError("A batch ended without an answer.")

    async def _outcomes(self, jobs: Sequence[Job]) -> Sequence[Outcome[T]]:
        try:
            return await self._run(jobs)
        except FailedBeforeCommit:
            # A deadlock or broken connection may have passed; a job at fault fails alone.
            return await self._one_by_one(jobs)
        except Exception as error:  # noqa: BLE001 - every caller needs an answer
            # The commit may have succeeded, so a retry could apply the jobs twice: clients decide.
            self._note_failure()
            return [error] * len(jobs)

    async def _one_by_one(self, jobs: Sequence[Job]) -> Sequence[Outcome[T]]:
        outcomes: list[Outcome[T]] = []
        for job in jobs:
            try:
                await self._begin()
                outcomes.extend(await self._run([job]))
            except FailedBeforeCommit as failure:
                self._note_failure()
                outcomes.append(failure.cause)
            except Exception as error:  # noqa: BLE001 - every caller needs an answer
                self._note_failure()
                # The store is unreachable: the other jobs would wait in turn for nothing.
                outcomes.extend([error] * (len(jobs) - len(outcomes)))
                break
        return outcomes


def reader(
    read: Callable[[Sequence[Job]], Awaitable[Sequence[T]]],
    max_weight: int,
    batches: Batches | None = None,
) -> Batcher[Job, T]:
    """Return a batcher for concurrent reads of one kind.

    A read never joins a batch that has begun: it could miss a write acknowledged since.
    """

    async def run(wanted: Sequence[Job]) -> Sequence[Outcome[T]]:
        return [Done(found) for found in await read(wanted)]

    return Batcher(run, max_weight, batches=batches)


def _answer(answer: asyncio.Future[T], outcome: Outcome[T]) -> None:
    if answer.done():  # the caller was cancelled; the job was done all the same
        return
    if isinstance(outcome, Done):
        answer.set_result(outcome.value)
    elif isinstance(outcome, StopIteration):  # a future cannot carry it
        answer.set_exception(RuntimeError("a job raised StopIteration"))
    else:
        if isinstance(outcome, FeedkeepError):
            # Its frames hold what the job loaded, and hold the error itself: nothing would be freed
            # until a full collection, which then stops the event loop.
            outcome.__traceback__ = None
        answer.set_exception(outcome)
