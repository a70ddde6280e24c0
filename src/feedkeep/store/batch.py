"""Many requests, one commit: queued jobs run together in one transaction. Knows no SQL.

A batch takes what is queued when the last one ends, of each account up to its share. There is no
timer: without load a batch is one job, and under load many jobs share the cost of a durable commit,
or of a query.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

from feedkeep.model import Guid, Stamp, T, Value
from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime.recorder import Batches
from feedkeep.store.fair_queue import FairQueue

MAX_WRITE_WEIGHT = 1_000
"""How many rows the jobs of a batch of writes name together, at most."""

MAX_SHARE = 250
"""How many of these are one account's. More are bulk, which has a batch of its own."""

Job = TypeVar("Job")


class Done(Value, Generic[T], frozen=True):
    """The outcome of a job that succeeded: what its caller is given."""

    value: T


Outcome: TypeAlias = Done[T] | Exception
"""The outcome of one job in a batch: a value, or an error that concerns this job only."""


class _Queued(Value, Generic[Job, T], frozen=True):
    """A job, where its caller waits for the answer and since when, and what it takes of a share."""

    job: Job
    answer: asyncio.Future[T]
    since: float
    weight: int
    owner: Hashable


class FailedBeforeCommit(Exception):
    """A transaction failed, `cause` says why, and its commit was never sent."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def weight_of_change(guids: Sequence[Guid] | None, history_from: Stamp | None = None) -> int:
    """Return how many rows a change names; one of a whole account is bulk."""
    if guids is None or history_from is not None:
        return MAX_WRITE_WEIGHT
    return len(guids)


def note_nothing() -> None:
    """Do nothing when a transaction has failed for good."""


async def wait_for_nothing() -> None:
    """Return at once: a batch begins whenever there is one."""


class Batcher(Generic[Job, T]):
    """Runs jobs in batches, one batch at a time for each key, and gives each caller its outcome."""

    def __init__(
        self,
        run: Callable[[Sequence[Job]], Awaitable[Sequence[Outcome[T]]]],
        max_weight: int,
        max_share: int | None = None,
        batches: Batches | None = None,
        note_failure: Callable[[], None] = note_nothing,
        begin: Callable[[], Awaitable[None]] = wait_for_nothing,
    ) -> None:
        """Take `run`, which runs jobs in one transaction and returns an outcome for each.

        Before it, `begin` waits for what a transaction needs, such as its turn. Which jobs are in
        the batch is decided after that, so that all are that came meanwhile. Then `run` follows at
        once. An error of `begin` fails the batch.

        `run` may do fewer jobs than it is given, but not none, if those that come first have turned
        out to be heavy: it returns fewer outcomes, and the other jobs come first in the next batch.
        `run` raises `FailedBeforeCommit` if the transaction failed for a reason that may have
        passed, or that may be the fault of one job: each job is then run once more, alone. Any
        other exception fails all jobs. What a batch takes of each owner's jobs is decided by
        `FairQueue`; without `max_share`, one owner's may fill it. `batches` counts them, if given,
        and `note_failure` is called for each transaction that failed for good.
        """
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
        """Run `job` in one of the next batches of `key`; return its value, or raise its error.

        `owner` is whose turn and share it takes, and `weight` how much of that.
        """
        if self._is_closed:
            raise StoreUnavailable("The store is closed: the service is stopping.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        since = time.perf_counter() if self._batches else 0.0
        queue = self._queues.get(key)
        if queue is None:  # then there is no worker, either: both come and go together
            queue = self._queues[key] = FairQueue(self._max_weight, self._max_share)
            self._workers[key] = asyncio.create_task(self._work(key))
        queue.add(_Queued(job, answer, since, weight, owner), weight, owner)
        return await answer

    async def close(self) -> None:
        """Take no more jobs, and return when all that were taken are answered."""
        self._is_closed = True
        await asyncio.gather(*self._workers.values(), return_exceptions=True)

    async def _work(self, key: Hashable) -> None:
        queue = self._queues[key]
        batch: list[_Queued[Job, T]] = []
        try:
            while queue:
                try:
                    await self._begin()
                except Exception as error:  # noqa: BLE001 - every caller has to get an answer
                    self._note_failure()
                    batch = queue.next_batch()
                    outcomes: Sequence[Outcome[T]] = [error] * len(batch)
                else:
                    batch = queue.next_batch()
                    self._count(batch)
                    outcomes = await self._outcomes([queued.job for queued in batch])
                    if not outcomes:  # otherwise this would go on for ever
                        raise RuntimeError("A batch ran none of its jobs.")
                done = len(outcomes)
                for queued, outcome in zip(batch[:done], outcomes, strict=True):
                    _answer(queued.answer, outcome)
                for queued in reversed(batch[done:]):
                    queue.put_back(queued, queued.weight, queued.owner)
        finally:
            del self._queues[key], self._workers[key]
            # A defect in `run` ends here, too: without this, its callers would wait for ever.
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
            # A deadlock or a broken connection may have passed; a job that is at fault fails alone.
            return await self._one_by_one(jobs)
        except Exception as error:  # noqa: BLE001 - every caller has to get an answer
            # The commit may have been carried out although its answer never came. To run the jobs
            # again could do them twice; only their clients can decide whether to send them again.
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
            except Exception as error:  # noqa: BLE001 - and so has every one of these
                self._note_failure()
                # The store is away for all of them: the others would wait in turn for nothing.
                outcomes.extend([error] * (len(jobs) - len(outcomes)))
                break
        return outcomes


def reader(
    read: Callable[[Sequence[Job]], Awaitable[Sequence[T]]],
    max_weight: int,
    batches: Batches | None = None,
) -> Batcher[Job, T]:
    """Return a batcher for concurrent reads of one kind.

    A read never joins a batch that has begun: it could miss a write that was acknowledged since.
    """

    async def run(wanted: Sequence[Job]) -> Sequence[Outcome[T]]:
        return [Done(found) for found in await read(wanted)]

    return Batcher(run, max_weight, batches=batches)


def _answer(answer: asyncio.Future[T], outcome: Outcome[T]) -> None:
    if answer.done():  # the caller is gone; the job was done all the same
        return
    if isinstance(outcome, Done):
        answer.set_result(outcome.value)
    elif isinstance(outcome, StopIteration):  # which no future can carry
        answer.set_exception(RuntimeError("a job raised StopIteration"))
    else:
        answer.set_exception(outcome)
