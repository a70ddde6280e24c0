"""Many requests, one commit: queued jobs run together in one transaction. Knows no SQL.

A batch takes what is queued when the last one ended: there is no waiting and no timer, so under no
load a batch is one job, and under load the cost of a durable commit is shared.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from feedkeep.errors import StoreUnavailable
from feedkeep.model import T

Job = TypeVar("Job")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a job that went well gives its caller."""

    value: T


Outcome: TypeAlias = Done[T] | Exception
"""What becomes of one job in a batch: a value, or an error that is this job's alone."""


class FailedBeforeCommit(Exception):
    """A transaction failed, `cause` says why, and its commit was never sent."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Batcher(Generic[Job, T]):
    """Runs jobs in batches, one batch at a time, and hands every caller the outcome of its job."""

    def __init__(
        self,
        run: Callable[[Sequence[Job]], Awaitable[Sequence[Outcome[T]]]],
        max_jobs: int,
    ) -> None:
        """Take `run`, which runs jobs in one transaction and returns an outcome for each.

        It raises `FailedBeforeCommit` if the transaction failed for a reason that may be one job's
        fault, so that its neighbours deserve another try; whatever else it raises fails them all.
        """
        self._run = run
        self._max_jobs = max_jobs
        self._queue: deque[tuple[Job, asyncio.Future[T]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False

    async def submit(self, job: Job) -> T:
        """Run `job` in one of the next batches; return its value, or raise its error."""
        if self._is_closed:
            raise StoreUnavailable("The store is closed: the service is stopping.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append((job, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def close(self) -> None:
        """Take no more jobs, and return when all that were taken are answered."""
        self._is_closed = True
        if self._worker is not None:
            await self._worker

    async def _work(self) -> None:
        while self._queue:
            size = min(len(self._queue), self._max_jobs)
            batch = [self._queue.popleft() for _ in range(size)]
            outcomes = await self._outcomes([job for job, _ in batch])
            for (_, answer), outcome in zip(batch, outcomes, strict=True):
                _answer(answer, outcome)
        self._worker = None

    async def _outcomes(self, jobs: Sequence[Job]) -> Sequence[Outcome[T]]:
        try:
            return await self._run(jobs)
        except FailedBeforeCommit as failure:
            if len(jobs) == 1:
                return [failure.cause]
            return await self._one_by_one(jobs)
        except Exception as error:  # noqa: BLE001 - every caller has to get an answer
            return [error] * len(jobs)

    async def _one_by_one(self, jobs: Sequence[Job]) -> Sequence[Outcome[T]]:
        outcomes: list[Outcome[T]] = []
        for job in jobs:
            outcomes.extend(await self._outcomes([job]))
            if isinstance(outcomes[-1], StoreUnavailable):
                # The store is away for all of them: each waiting in turn would help nobody.
                outcomes.extend([outcomes[-1]] * (len(jobs) - len(outcomes)))
                break
        return outcomes


def _answer(answer: asyncio.Future[T], outcome: Outcome[T]) -> None:
    if answer.done():  # the caller is gone; the work is done all the same
        return
    if isinstance(outcome, Done):
        answer.set_result(outcome.value)
    else:
        answer.set_exception(outcome)
