"""Counting: what is counted of requests, batches and commits, and that nothing else is."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

import apsw
import asyncpg
import pytest
from recorded import COMMITS, FAILED_COMMITS, recorded
from stores import database

from feedkeep.model import Account, AccountId, Decision, Snapshot
from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.store import batch
from feedkeep.store.base import Pool, Store
from feedkeep.store.batch import Batcher, Done
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore

__all__ = ["database"]

JOBS = "feedkeep_store_batch_jobs"
WAITS = "feedkeep_store_batch_wait_seconds"
READS, WRITES = "read", "write"


def count_and_sum(recorder: Recorder, name: str, kind: str) -> tuple[float, float]:
    number = recorded(recorder, f"{name}_count", kind=kind)
    return number, recorded(recorder, f"{name}_sum", kind=kind)


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


def test_a_batch_is_counted_with_its_jobs_and_the_wait_of_the_first(monkeypatch):
    recorder = Recorder()
    clock = count()
    monkeypatch.setattr(batch.time, "perf_counter", lambda: next(clock))

    async def run(jobs):
        await asyncio.sleep(0)
        return [Done(job) for job in jobs]

    async def work():
        batcher: Batcher[int, int] = Batcher(run, 3, batches=recorder.reads)
        await asyncio.gather(*(batcher.submit(number) for number in range(4)))

    asyncio.run(work())
    assert count_and_sum(recorder, JOBS, READS) == (2, 4)
    # The jobs came at 0, 1, 2 and 3, and their batches began at 4 and 5.
    assert count_and_sum(recorder, WAITS, READS) == (2, (4 - 0) + (5 - 3))


def nothing(given: Snapshot) -> Decision[None]:
    return Decision(None, [], [], given.last_stamp, given.counts)


async def create(store: Store, number: int) -> None:
    account = Account(AccountId(number), f"user{number}", None, False, 0)
    await store.accounts.create(account, account.name)


async def test_sqlite_counts_its_batches_and_commits(tmp_path):
    recorder = Recorder()
    path = tmp_path / "feedkeep.db"
    store = await SqliteStore.open(path, wall_clock.now, recorder=recorder)
    try:
        await asyncio.gather(*(create(store, number) for number in range(1, 4)))
        assert count_and_sum(recorder, JOBS, WRITES) == (1, 3)
        assert recorded(recorder, COMMITS) == 1
        assert recorded(recorder, FAILED_COMMITS) == 0
        await store.tokens.find(AccountId(1), b"\0" * 32)
        assert count_and_sum(recorder, JOBS, READS) == (1, 1)

        def refuse():
            raise apsw.IOError("the disk is gone")

        store._runner._writer.set_commit_hook(refuse)
        with pytest.raises(StoreUnavailable):
            await create(store, 9)
        assert recorded(recorder, COMMITS) == 1
        assert recorded(recorder, FAILED_COMMITS) == 1
        store._runner._writer.set_commit_hook(None)
    finally:
        await store.close()


async def test_a_file_that_is_gone_has_no_size(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    store = await SqliteStore.open(folder / "feedkeep.db", wall_clock.now)
    files = store.state().files
    assert files is not None
    assert min(files.data_bytes, files.free_bytes) > 0
    folder.rename(tmp_path / "elsewhere")
    gone = store.state().files
    assert gone is not None
    assert (gone.data_bytes, gone.log_bytes, gone.free_bytes) == (0, 0, 0)
    (tmp_path / "elsewhere").rename(folder)
    await store.close()


async def test_a_link_to_the_file_has_the_size_of_the_file_and_its_log(tmp_path):
    (tmp_path / "data").mkdir()
    link = tmp_path / "feedkeep.db"
    link.symlink_to(tmp_path / "data" / "real.db")
    store = await SqliteStore.open(link, wall_clock.now)
    await create(store, 1)
    files = store.state().files
    assert files is not None
    assert files.data_bytes == (tmp_path / "data" / "real.db").stat().st_size > 0
    assert files.log_bytes == (tmp_path / "data" / "real.db-wal").stat().st_size > 0
    await store.close()


def on_postgres(url: str, work: Callable[[PostgresStore, Recorder], Awaitable[None]]) -> None:
    async def go() -> None:
        recorder = Recorder()
        store = await PostgresStore.open(url, 3, wall_clock.now, recorder=recorder)
        try:
            await work(store, recorder)
        finally:
            await store.close()

    asyncio.run(go())


def test_postgres_counts_its_batches_and_commits(database):
    async def work(store, recorder):
        before = recorded(recorder, COMMITS)
        await create(store, 1)
        assert recorded(recorder, COMMITS) == before + 1
        await asyncio.gather(*(store.tokens.find(AccountId(1), b"\0" * 32) for _ in range(3)))
        assert count_and_sum(recorder, JOBS, READS) == (1, 3)
        await store.entries.change(AccountId(1), [], nothing)
        assert count_and_sum(recorder, JOBS, WRITES) == (1, 1)

        async def swallow(connection):
            with pytest.raises(asyncpg.PostgresSyntaxError):
                await connection.execute("no statement")

        with pytest.raises(StoreUnavailable):
            await store._runner.write(swallow)
        assert recorded(recorder, FAILED_COMMITS) == 1

    on_postgres(database, work)


def test_the_pool_says_how_many_connections_are_in_use(database):
    async def work(store, _):
        await create(store, 1)
        assert store.state().pool == Pool(0, 1, 3)
        connections = store._runner.connections
        async with connections.reading(), connections.reading():
            assert store.state().pool == Pool(2, 0, 3)
        assert store.state().pool == Pool(0, 2, 3)

    on_postgres(database, work)
