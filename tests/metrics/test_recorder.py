"""Counting: of requests, batches, commits and what is stored, and of nothing else."""

import asyncio
from contextlib import asynccontextmanager
from itertools import count
from unittest import mock

import apsw
import asyncpg
import pytest
from recorded import COMMITS, FAILED_COMMITS, recorded
from stores import database
from structlog.testing import capture_logs

from feedkeep.assembly import open_service
from feedkeep.config.settings import Settings
from feedkeep.metrics import counting
from feedkeep.model import Account, AccountId, Decision
from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.store import batch
from feedkeep.store.base import Pool
from feedkeep.store.batch import Batcher, Done
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore

__all__ = ["database"]

JOBS = "feedkeep_store_batch_jobs"
WAITS = "feedkeep_store_batch_wait_seconds"
READS, WRITES = "read", "write"
FIRST = AccountId(1)


def count_and_sum(recorder: Recorder, name: str, kind: str) -> tuple[float, float]:
    number = recorded(recorder, f"{name}_count", kind=kind)
    return number, recorded(recorder, f"{name}_sum", kind=kind)


@asynccontextmanager
async def opened(opening):
    store = await opening
    try:
        yield store
    finally:
        await store.close()


async def create(store, number: int) -> None:
    account = Account(AccountId(number), f"user{number}", None, False, 0)
    await store.accounts.create(account, account.name)


def test_requests_are_counted_by_what_is_known_before_they_come():
    recorder = Recorder()
    for method in ("GET", "GET", "BREW", "PROPFIND"):
        recorder.request(None, method, 404, 0.0005)
    for seconds in (0.001, 0.0025, 10, 99):
        recorder.request("/livez", "GET", 200, seconds)
    assert {key: sum(seen.counts) for key, seen in recorder.requests.items()} == {
        ("none", "GET", 404): 2,
        ("none", "other", 404): 2,
        ("/livez", "GET", 200): 4,
    }
    assert {method for _, method, _ in recorder._seen} == {"GET"}  # strangers may invent any number
    seen = recorder.requests["/livez", "GET", 200]
    assert seen.counts == [1, 1, *[0] * 10, 1, 1]
    assert seen.seconds == pytest.approx(109.0035)


async def test_batch_is_counted_with_its_jobs_and_the_wait_of_the_first(monkeypatch):
    recorder, clock = Recorder(), count()
    monkeypatch.setattr(batch.time, "perf_counter", lambda: next(clock))

    async def run(jobs):
        await asyncio.sleep(0)
        return [Done(job) for job in jobs]

    batcher = Batcher(run, 3, batches=recorder.reads)
    await asyncio.gather(*(batcher.submit(number) for number in range(4)))
    assert count_and_sum(recorder, JOBS, READS) == (2, 4)
    # The jobs came at 0, 1, 2 and 3, and their batches began at 4 and 5.
    assert count_and_sum(recorder, WAITS, READS) == (2, (4 - 0) + (5 - 3))


async def test_sqlite_counts_its_batches_and_commits(tmp_path):
    recorder = Recorder()
    opening = SqliteStore.open(tmp_path / "feedkeep.db", wall_clock.now, recorder=recorder)
    async with opened(opening) as store:
        await asyncio.gather(*(create(store, number) for number in range(1, 4)))
        assert count_and_sum(recorder, JOBS, WRITES) == (1, 3)
        assert (recorded(recorder, COMMITS), recorded(recorder, FAILED_COMMITS)) == (1, 0)
        await store.tokens.find(FIRST, b"\0" * 32)
        assert count_and_sum(recorder, JOBS, READS) == (1, 1)
        store._runner._writer.set_commit_hook(mock.Mock(side_effect=apsw.IOError("it is gone")))
        with pytest.raises(StoreUnavailable):
            await create(store, 9)
        assert (recorded(recorder, COMMITS), recorded(recorder, FAILED_COMMITS)) == (1, 1)
        store._runner._writer.set_commit_hook(None)


async def test_sizes_are_of_the_file_behind_a_link_and_0_once_it_is_gone(tmp_path):
    folder, link = tmp_path / "data", tmp_path / "feedkeep.db"
    folder.mkdir()
    link.symlink_to(folder / "real.db")
    async with opened(SqliteStore.open(link, wall_clock.now)) as store:
        await create(store, 1)
        files = store.state().files
        assert files.data_bytes == (folder / "real.db").stat().st_size > 0
        assert files.log_bytes == (folder / "real.db-wal").stat().st_size > 0
        assert files.free_bytes > 0
        folder.rename(tmp_path / "elsewhere")
        gone = store.state().files
        assert (gone.data_bytes, gone.log_bytes, gone.free_bytes) == (0, 0, 0)
        (tmp_path / "elsewhere").rename(folder)


async def test_postgres_counts_its_batches_its_commits_and_its_connections(database):
    recorder = Recorder()
    async with opened(PostgresStore.open(database, 3, wall_clock.now, recorder=recorder)) as store:
        before = recorded(recorder, COMMITS)
        await create(store, 1)
        assert recorded(recorder, COMMITS) == before + 1
        assert store.state().pool == Pool(0, 1, 3)
        connections = store._runner.connections
        async with connections.reading(), connections.reading():
            assert store.state().pool == Pool(2, 0, 3)
        assert store.state().pool == Pool(0, 2, 3)
        await asyncio.gather(*(store.tokens.find(FIRST, b"\0" * 32) for _ in range(3)))
        assert count_and_sum(recorder, JOBS, READS) == (1, 3)
        await store.entries.change(
            FIRST, [], lambda given: Decision(None, [], [], given.last_stamp, given.counts)
        )
        assert count_and_sum(recorder, JOBS, WRITES) == (1, 1)

        async def swallow(connection):
            with pytest.raises(asyncpg.PostgresSyntaxError):
                await connection.execute("no statement")

        with pytest.raises(StoreUnavailable):
            await store._runner.write(swallow)
        assert recorded(recorder, FAILED_COMMITS) == 1


@pytest.mark.parametrize("error", [StoreUnavailable("It is locked."), RuntimeError("unexpected")])
async def test_counting_what_is_stored_goes_on_after_any_error(tmp_path, monkeypatch, error):
    for name in ("SECONDS_BETWEEN_STEPS", "SECONDS_BETWEEN_ROUNDS"):
        monkeypatch.setattr(counting, name, 0.0)
    settings = Settings(database=f"sqlite:///{tmp_path}/x.db")
    with capture_logs() as logs:
        async with open_service(settings) as service:
            await service.accounts.create("anna", None)
            totals = service.store.totals
            ask, is_back = totals.of_accounts, asyncio.Event()

            async def away(*_):
                monkeypatch.setattr(totals, "of_accounts", here)
                raise error

            async def here(*arguments):
                if counted.last:  # this is the round after the first whole one
                    is_back.set()
                return await ask(*arguments)

            monkeypatch.setattr(totals, "of_accounts", away)
            async with counting.Counting(service.store, wall_clock.now) as counted:
                await is_back.wait()
            assert counted.last.accounts == 1
    assert [line["reason"] for line in logs if line["log_level"] == "warning"] == [repr(error)]
