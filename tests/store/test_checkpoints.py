"""The write-ahead log goes into the file beside commits, and stays short while they never pause."""

import asyncio
import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import apsw
from test_sqlite import ALICE

from feedkeep.model import Decision, Guid, Snapshot, Stamp, Subscription
from feedkeep.rules.list_limits import count
from feedkeep.runtime import wall_clock
from feedkeep.store.sqlite import SqliteStore
from feedkeep.store.sqlite.checkpoints import BEGUN_AT_PAGES, MOST_PAGES
from feedkeep.store.sqlite.connection import connect

FRAME_BYTES = 4_096 + 24
FEEDS_AT_ONCE = 500


def add_feeds(snapshot: Snapshot) -> Decision[None]:
    entries = [
        Subscription(
            Guid(str(uuid4())),
            f"https://a.example/{number}",
            True,
            Stamp(snapshot.last_stamp + number),
        )
        for number in range(1, FEEDS_AT_ONCE + 1)
    ]
    return Decision(None, entries, [], entries[-1].subscription_changed, count(entries))


async def add(store: SqliteStore) -> None:
    await store.entries.change(ALICE, [], add_feeds)


def log_pages(store: SqliteStore) -> int:
    """How many pages the log has had at most: it is not made shorter."""
    return store._runner.files().log_bytes // FRAME_BYTES


async def add_until(store: SqliteStore, is_enough: Callable[[], bool]) -> None:
    for _ in range(500):
        if is_enough():
            return
        await add(store)
    raise AssertionError("It never came to this.")


def feeds_in(path: Path) -> int:
    with closing(connect(path, 1)) as opened:
        found = opened.execute("SELECT count(*) FROM entry").get
    assert isinstance(found, int)
    return found


async def test_commits_wait_for_a_checkpoint_only_once_the_log_is_long(store):
    runner, is_over = store._runner, threading.Event()
    held = runner._checkpoints._thread.submit(is_over.wait)
    try:
        await add_until(store, lambda: log_pages(store) > 2 * BEGUN_AT_PAGES)
        assert runner._checkpoints._under_way
        await add_until(store, lambda: log_pages(store) >= MOST_PAGES)
        waiting = asyncio.create_task(add(store))
        for _ in range(5):  # until it is in a batch
            await asyncio.sleep(0)
        # What this batch has asked of the writer's thread is done after this.
        await asyncio.get_running_loop().run_in_executor(runner._writing, lambda: None)
        assert not runner._writer.in_transaction
    finally:
        is_over.set()
    assert held.result()
    before = log_pages(store)
    await waiting
    assert log_pages(store) == before  # it began anew


async def test_the_log_stays_short_while_commits_never_pause(path, store):
    async def add_many():
        for _ in range(50):
            await add(store)

    await asyncio.gather(*(add_many() for _ in range(4)))
    assert feeds_in(path) == 200 * FEEDS_AT_ONCE
    assert log_pages(store) < 4 * MOST_PAGES  # some 40,000 pages were written


async def test_the_log_stays_short_while_two_processes_never_pause(path, store):
    other = await SqliteStore.open(path, wall_clock.now)

    async def add_many(to):
        for _ in range(50):
            await add(to)

    await asyncio.gather(*(add_many(one) for one in (store, other, store, other)))
    assert feeds_in(path) == 200 * FEEDS_AT_ONCE
    assert log_pages(store) < 4 * MOST_PAGES
    await other.close()


async def test_what_was_committed_gets_into_the_file_again_and_again_without_a_stop(path, store):
    checkpoints = store._runner._checkpoints
    for _ in range(3):
        before = checkpoints._under_way
        await add_until(store, lambda before=before: checkpoints._under_way is not before)
        assert checkpoints._under_way
        await checkpoints._under_way
        committed = feeds_in(path)
        shutil.copyfile(path, path.with_name("copy.db"))  # without its log
        assert feeds_in(path.with_name("copy.db")) == committed > 0
        path.with_name("copy.db").unlink()
    assert log_pages(store) < MOST_PAGES  # so no commit has waited


async def test_a_checkpoint_that_fails_fails_no_commit(monkeypatch, store):
    class Failing:
        """Stands for a connection on a disk that is full."""

        tries = 0

        def wal_checkpoint(self, **_):
            self.tries += 1
            raise apsw.FullError

    failing = Failing()
    monkeypatch.setattr(store._runner._checkpoints, "_connection", failing)
    await add_until(store, lambda: log_pages(store) > MOST_PAGES + BEGUN_AT_PAGES)
    assert failing.tries > 1
    monkeypatch.undo()
    await add(store)
    before = log_pages(store)
    await add(store)
    assert log_pages(store) == before  # it began anew


async def test_the_thread_of_checkpoints_runs_before_anything_is_committed(
    path, monkeypatch, store
):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    await add(store)  # which starts the writer's
    monkeypatch.setattr(threading.Thread, "start", refuse)
    await add_until(store, lambda: store._runner._checkpoints._under_way is not None)
    monkeypatch.undo()
    assert feeds_in(path) % FEEDS_AT_ONCE == 0


async def test_a_reader_that_holds_the_log_up_fails_no_commit(path, store):
    with closing(connect(path, 1)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM account").fetchall()
        await add_until(store, lambda: log_pages(store) > 2 * MOST_PAGES)
        reader.execute("ROLLBACK")
    before = log_pages(store)
    await add(store)
    await add(store)
    assert log_pages(store) == before  # it began anew
