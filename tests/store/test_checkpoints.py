"""The write-ahead log goes into the file beside commits, and stays short while they never pause."""

import asyncio
import shutil
import threading
from contextlib import closing
from unittest import mock
from uuid import uuid4

import apsw
import pytest
from small_lists import ALICE, opened

from feedkeep.model import Decision, Subscription
from feedkeep.rules.list_limits import count
from feedkeep.store.sqlite.checkpoints import BEGUN_AT_PAGES, MOST_PAGES
from feedkeep.store.sqlite.connection import connect

FRAME_BYTES = 4_096 + 24
FEEDS_AT_ONCE = 500


@pytest.fixture
async def store(path):
    async with opened(path) as store:
        yield store


async def add(store):
    def add_feeds(snapshot):
        stamp = snapshot.last_stamp
        entries = [
            Subscription(str(uuid4()), f"https://a.example/{number}", True, stamp + number)
            for number in range(1, FEEDS_AT_ONCE + 1)
        ]
        return Decision(None, entries, [], stamp + FEEDS_AT_ONCE, count(entries))

    await store.entries.change(ALICE, [], add_feeds)


def log_pages(store):
    """Return the number of pages that the log has had at most: it is not made shorter."""
    return store._runner.files().log_bytes // FRAME_BYTES


async def add_until(store, is_enough):
    for _ in range(500):
        if is_enough():
            return
        await add(store)
    raise AssertionError("It never came to this.")


async def assert_log_begins_anew(store, writing=None):
    """Write, which makes the log no longer."""
    before = log_pages(store)
    await (writing or add(store))
    assert log_pages(store) == before


def feeds_in(path):
    with closing(connect(path, 1)) as opened:
        return opened.execute("SELECT count(*) FROM entry").get


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
    await assert_log_begins_anew(store, waiting)


@pytest.mark.parametrize("processes", [1, 2])
async def test_log_stays_short_while_commits_never_pause(path, store, processes):
    async def add_many(to):
        for _ in range(50):
            await add(to)

    async with opened(path) as other:
        stores = [store, other] if processes == 2 else [store, store]
        await asyncio.gather(*(add_many(one) for one in stores * 2))
    assert feeds_in(path) == 200 * FEEDS_AT_ONCE
    assert log_pages(store) < 4 * MOST_PAGES  # some 40,000 pages were written


async def test_commits_get_into_the_file_again_and_again_without_a_stop(path, store):
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


async def test_checkpoint_that_fails_on_a_full_disk_fails_no_commit(monkeypatch, store):
    failing = mock.Mock()
    failing.wal_checkpoint.side_effect = apsw.FullError
    with monkeypatch.context() as patched:
        patched.setattr(store._runner._checkpoints, "_connection", failing)
        await add_until(store, lambda: log_pages(store) > MOST_PAGES + BEGUN_AT_PAGES)
    assert failing.wal_checkpoint.call_count > 1
    await add(store)
    await assert_log_begins_anew(store)


async def test_thread_of_checkpoints_runs_before_anything_is_committed(path, monkeypatch, store):
    refuse = mock.Mock(side_effect=RuntimeError("can't start new thread"))
    await add(store)  # which starts the writer's
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        await add_until(store, lambda: store._runner._checkpoints._under_way is not None)
    assert feeds_in(path) % FEEDS_AT_ONCE == 0


async def test_reader_that_blocks_the_log_fails_no_commit(path, store):
    with closing(connect(path, 1)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM account").fetchall()
        await add_until(store, lambda: log_pages(store) > 2 * MOST_PAGES)
        reader.execute("ROLLBACK")
    await assert_log_begins_anew(store)
    await assert_log_begins_anew(store)
