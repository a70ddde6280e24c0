"""Many requests, one commit: queued jobs run together in one transaction. Knows no SQL.

A batch takes all that is queued when the last one ends. There is no timer: without load a batch is
one job, and under load many jobs share the cost of a durable commit, or of a query.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

from feedkeep.errors import StoreUnavailable
from feedkeep.model import T, Value
from feedkeep.recorder import Batches

Job = TypeVar("Job")


class Done(Value, Generic[T], frozen=True):
    """The outcome of a job that succeeded: what its caller is given."""

    value: T


Outcome: TypeAlias = Done[T] | Exception
"""The outcome of one job in a batch: a value, or an error that concerns this job only."""


class FailedBeforeCommit(Exception):
    """A transaction failed, `cause` says why, and its commit was never sent."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def note_nothing() -> None:
    """Do nothing when a transaction has failed for good: nobody counts that."""


class Batcher(Generic[Job, T]):
    """Runs jobs in batches, one batch at a time for each key, and gives each caller its outcome."""

    def __init__(
        self,
        run: Callable[[Sequence[Job]], Awaitable[Sequence[Outcome[T]]]],
        max_weight: int,
        weigh: Callable[[Job], int] | None = None,
        batches: Batches | None = None,
        note_failure: Callable[[], None] = note_nothing,
    ) -> None:
        """Take `run`, which runs jobs in one transaction and returns an outcome for each.

        `run` raises `FailedBeforeCommit` if the transaction failed for a reason that may have
        passed, or that may be the fault of one job: each job is then run once more, alone. Any
        other exception fails all jobs. A batch is one job, or several whose weights are at most
        `max_weight` together; without `weigh`, each weighs 1. `batches` counts them, if given, and
        `note_failure` is called for each transaction that failed for good.
        """
        self._note_failure = note_failure
        self._run = run
        self._max_weight = max_weight
        self._weigh = weigh
        self._batches = batches
        self._queues: dict[Hashable, deque[tuple[Job, asyncio.Future[T], float]]] = {}
        self._workers: dict[Hashable, asyncio.Task[None]] = {}
        self._is_closed = False

    async def submit(self, job: Job, key: Hashable = None) -> T:
        """Run `job` in one of the next batches of `key`; return its value, or raise its error."""
        if self._is_closed:
            raise StoreUnavailable("The store is closed: the service is stopping.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        since = time.perf_counter() if self._batches else 0.0
        queue = self._queues.get(key)
        if queue is None:  # then there is no worker, either: both come and go together
            queue = self._queues[key] = deque()
            self._workers[key] = asyncio.create_task(self._work(key))
        queue.append((job, answer, since))
        return await answer

    async def close(self) -> None:
        """Take no more jobs, and return when all that were taken are answered."""
        self._is_closed = True
        await asyncio.gather(*self._workers.values(), return_exceptions=True)

    async def _work(self, key: Hashable) -> None:
        queue = self._queues[key]
        batch: list[tuple[Job, asyncio.Future[T], float]] = []
        try:
            while queue:
                batch = self._next_batch(queue)
                if self._batches:
                    self._batches.begin(len(batch), time.perf_counter() - batch[0][2])
                outcomes = await self._outcomes([job for job, _, _ in batch])
                for (_, answer, _), outcome in zip(batch, outcomes, strict=True):
                    _answer(answer, outcome)
        finally:
            del self._queues[key], self._workers[key]
            # A defect in `run` ends here, too: without this, its callers would wait for ever.
            for _, answer, _ in (*batch, *queue):
                if not answer.done():
                    answer.set_exception(self._unanswered())

    def _unanswered(self) -> Exception:
        if self._is_closed:
            return StoreUnavailable("The service stopped before the store answered.")
        return RuntimeError("A batch ended without an answer.")

    def _next_batch(
        self, queue: deque[tuple[Job, asyncio.Future[T], float]]
    ) -> list[tuple[Job, asyncio.Future[T], float]]:
        if self._weigh is None:
            return [queue.popleft() for _ in range(min(len(queue), self._max_weight))]
        # The first job is taken whatever it weighs: one above the limit would never run.
        batch = [queue.popleft()]
        weight = self._weigh(batch[0][0])
        while queue and (weight := weight + self._weigh(queue[0][0])) <= self._max_weight:
            batch.append(queue.popleft())
        return batch

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
                outcomes.extend(await self._run([job]))
            except FailedBeforeCommit as failure:
                self._note_failure()
                outcomes.append(failure.cause)
            except Exception as error:  # noqa: BLE001 - and so has every one of these
                self._note_failure()
                # The store is away for all of them: it helps nobody if each waits in turn.
                outcomes.extend([error] * (len(jobs) - len(outcomes)))
                break
        return outcomes


def reader(
    read: Callable[[Sequence[Job]], Awaitable[Sequence[T]]],
    max_weight: int,
    weigh: Callable[[Job], int] | None = None,
    batches: Batches | None = None,
) -> Batcher[Job, T]:
    """Return a batcher for concurrent reads of one kind.

    A read never joins a batch that has begun: it could miss a write that was acknowledged since.
    """

    async def run(wanted: Sequence[Job]) -> Sequence[Outcome[T]]:
        return [Done(found) for found in await read(wanted)]

    return Batcher(run, max_weight, weigh, batches)


def _answer(answer: asyncio.Future[T], outcome: Outcome[T]) -> None:
    if answer.done():  # the caller is gone; the job was done all the same
        return
    if isinstance(outcome, Done):
        answer.set_result(outcome.value)
    elif isinstance(outcome, StopIteration):  # which no future can carry
        answer.set_exception(RuntimeError("a job raised StopIteration"))
    else:
        answer.set_exception(outcome)
