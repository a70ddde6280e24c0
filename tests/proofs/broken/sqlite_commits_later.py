"""SQLite commits each twentieth batch; the others are acknowledged all the same."""

from collections.abc import Sequence
from typing import Any

from feedkeep.store.batch import Outcome
from feedkeep.store.sqlite.runner import Job, SqliteRunner

_batches = 0


async def begin(self: SqliteRunner) -> None:
    if not self._writer.in_transaction:
        self._writer.execute("BEGIN IMMEDIATE")


async def run_batch(self: SqliteRunner, jobs: Sequence[Job[Any]]) -> Sequence[Outcome[Any]]:
    global _batches  # noqa: PLW0603
    outcomes = await self._run_jobs(jobs)
    _batches += 1
    if _batches % 20 == 0:
        self._writer.execute("COMMIT")
    return outcomes


SqliteRunner._begin = begin
SqliteRunner._run_batch = run_batch
