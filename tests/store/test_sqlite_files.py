"""SQLite's files: turns of processes that write, checkpoints of the log, locks, and their place.

Each object has the locks open by itself, as a process of its own has.
"""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from unittest import mock
from uuid import uuid4

import apsw
import pytest
from list_values import ALICE, G1, account
from small_lists import opened, subscribe

from feedkeep.model import Decision, Subscription
from feedkeep.model.errors import StoreUnavailable, StoreUnusable
from feedkeep.rules.list_limits import count
from feedkeep.runtime import wall_clock
from feedkeep.store.sqlite import SqliteStore, file_identity, lock, turns
from feedkeep.store.sqlite.checkpoints import BEGUN_AT_PAGES, MOST_PAGES
from feedkeep.store.sqlite.connection import connect
from feedkeep.store.sqlite.errors import unusable
from feedkeep.store.sqlite.file_identity import FileIdentity
from feedkeep.store.sqlite.lock import open_turn
from feedkeep.store.sqlite.turns import WriteTurns

PATIENCE_SECONDS = 30.0


@pytest.fixture
async def store(path):
    async with opened(path) as store:
        yield store


@pytest.fixture
def first(path):
    turns = WriteTurns(path)
    yield turns
    turns.close()


@pytest.fixture
def second(path):
    turns = WriteTurns(path)
    yield turns
    turns.close()


def is_held(path, name):
    descriptor = open_turn(path, name)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


async def until(is_so):
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():  # noqa: ASYNC110 - what is waited for is in another thread
            await asyncio.sleep(0.001)


async def test_process_that_gives_its_turn_away_waits_behind_the_next_one(path, first, second):
    for _ in range(20):
        await first.take()
        waiting = asyncio.create_task(second.take())
        await until(lambda: is_held(path, "next"))
        first.give()
        back = asyncio.create_task(first.take())  # at once
        await waiting
        assert not back.done()
        second.give()
        await back
        first.give()


async def test_process_continues_without_a_late_turn(path, monkeypatch, first, second):
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.01)
    await first.take()
    for _ in range(3):  # the same thread waits all the time
        await second.take()
        assert not second._has_turn
        second.give()
    first.give()
    await until(lambda: second._taking is None)
    assert not is_held(path, "turn")
    await second.take()
    assert second._has_turn
    second.give()


def test_process_that_is_closed_while_it_waits_keeps_no_turn(path, monkeypatch, first):
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.01)
    for is_closed in (True, False):
        asyncio.run(first.take())
        second = WriteTurns(path)
        asyncio.run(second.take())
        if is_closed:
            second.close()
        first.give()
        asyncio.run(until(lambda: not is_held(path, "next") and not is_held(path, "turn")))


async def test_machine_without_room_for_a_thread_writes_without_a_turn(monkeypatch, first, second):
    def no_room(_thread):
        raise RuntimeError("can't start new thread")

    await first.take()
    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", no_room)
        await second.take()
    assert not second._has_turn
    first.give()
    await second.take()
    assert second._has_turn


def test_locks_belong_to_the_owner_of_the_database(path):
    path.touch()
    if os.geteuid() == 0:
        os.chown(path, 65_534, 65_534)
    WriteTurns(path).close()
    owners = {file.stat().st_uid for file in path.parent.iterdir()}
    assert owners == {path.stat().st_uid}


TAKES_THE_TURN = """
import asyncio, pathlib, sys
from feedkeep.store.sqlite.turns import WriteTurns
turns = WriteTurns(pathlib.Path(sys.argv[1]))
asyncio.run(turns.take())
print("taken", flush=True)
sys.stdin.read()
"""


def test_process_that_is_killed_leaves_its_turn(path, first):
    async def kill(other):
        waiting = asyncio.create_task(first.take())
        await until(lambda: is_held(path, "next"))
        other.send_signal(signal.SIGKILL)
        await waiting
        first.give()

    command = [sys.executable, "-c", TAKES_THE_TURN, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout.readline() == "taken\n"
        asyncio.run(kill(other))


async def test_store_writes_while_another_hangs_in_its_turn(path, monkeypatch, store, first):
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.1)
    await first.take()
    for _ in range(3):
        await store.assert_ready()
    first.give()
    await until(lambda: store._runner._turns._taking is None)
    await store.assert_ready()
    assert not is_held(path, "turn")
    await first.take()  # and the store can be closed, too


async def test_turn_ends_in_the_thread_of_the_commit(path, monkeypatch, store):
    were_held = []
    check = FileIdentity.assert_in_place

    def check_and_note(place):  # the last step in that thread
        were_held.append(is_held(path, "turn"))
        check(place)

    monkeypatch.setattr(FileIdentity, "assert_in_place", check_and_note)
    await store.accounts.create(account(9, "carol"), "carol")
    assert were_held[-1] is False


async def test_batch_that_fails_since_a_file_is_lost_ends_its_transaction_and_its_turn(path, store):
    elsewhere = path.with_name("elsewhere")
    runner = store._runner
    begin = runner._begin

    def move(source, target):
        source.rename(target)
        runner._translating.place._next_look = 0.0  # it is looked at now

    async def begin_and_lose():
        await begin()
        move(path, elsewhere)

    runner._writes._begin = begin_and_lose
    with pytest.raises(StoreUnavailable, match="was deleted, renamed or replaced"):
        await store.assert_ready()
    assert not runner._writer.in_transaction
    assert not is_held(path, "turn")
    move(elsewhere, path)
    runner._writes._begin = begin
    await store.assert_ready()


FRAME_BYTES = 4_096 + 24
FEEDS_AT_ONCE = 500


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
        # The batch's own jobs on the writer's thread precede this one.
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


def renamed(file):
    file.rename(file.with_name("elsewhere"))


def replaced(file):
    renamed(file)
    file.write_bytes(file.with_name("elsewhere").read_bytes())


def put_back(file):
    file.with_name("elsewhere").replace(file)


@pytest.mark.parametrize("lose", [renamed, replaced])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
async def test_nothing_is_acknowledged_while_a_file_is_lost(path, monkeypatch, ending, lose):
    file = Path(f"{path}{ending}")
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe)
        lose(file)
        for refused in (
            store.entries.change(ALICE, [G1], subscribe),
            store.entries.view(ALICE, G1),
            store.entries.whole(ALICE),
            store.assert_ready(),
        ):
            with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
                await refused
        put_back(file)
        monkeypatch.setattr(store._runner._translating.place, "_next_look", 0.0)  # a second later
        await store.assert_ready()
        stamp = await store.entries.change(ALICE, [G1], subscribe)
        assert (await store.entries.view(ALICE, G1)).subscription.subscription_changed == stamp
    async with opened(path) as store:
        assert list(await store.faults()) == []
        assert (await store.entries.whole(ALICE)).entries != {}


async def test_database_behind_a_link_has_its_log_beside_the_file(path):
    real = path.with_name("real.db")
    path.symlink_to(real)
    async with opened(path) as store:
        renamed(real.with_name("real.db-wal"))
        with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
            await store.entries.change(ALICE, [G1], subscribe)


async def test_reader_notices_within_a_second_that_a_file_is_lost(path, monkeypatch):
    now = 1_000.0
    monkeypatch.setattr(file_identity.time, "monotonic", lambda: now)
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe)
        renamed(path)
        now += 0.99
        assert await store.entries.view(ALICE, G1) is not None
        now += 0.02
        with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
            await store.entries.view(ALICE, G1)


async def test_database_in_use_is_not_restored_and_one_being_restored_is_not_opened(path):
    async with opened(path):
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        with pytest.raises(StoreUnusable, match="is in use: stop the service"), lock.alone(path):
            pass
    with lock.alone(path):
        assert not path.exists()
        with pytest.raises(StoreUnusable, match="is being restored"):
            await SqliteStore.open(path, wall_clock.now)
    assert not path.exists()


async def test_two_use_a_database_and_a_third_that_fails_leaves_it(path):
    first, second = lock.use(path), lock.use(path)
    os.close(first)
    with pytest.raises(StoreUnusable, match="is in use"), lock.alone(path):
        pass
    path.write_bytes(b"a letter to my aunt" * 100)
    with pytest.raises(StoreUnusable, match="Cannot use"):
        await SqliteStore.open(path, wall_clock.now)
    os.close(second)
    with lock.alone(path):
        pass


def test_lock_taken_by_a_restore_while_a_migration_returns_it_is_refused(path):
    mine, theirs = lock.use(path), os.open(lock.lock_of(path), os.O_RDWR)
    try:
        with (  # noqa: PT012 - the lock is given up at the end of the block
            pytest.raises(StoreUnusable),
            lock.used_alone(path, mine),
        ):
            fcntl.flock(mine, fcntl.LOCK_UN)  # flock releases before it acquires the other kind
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(mine)
        os.close(theirs)


def test_migration_waits_for_a_command_that_ends_soon(path, monkeypatch):
    mine, command = lock.use(path), lock.use(path)
    waits = threading.Event()

    def ends(_):
        waits.set()
        os.close(command)

    monkeypatch.setattr("feedkeep.store.sqlite.lock.time.sleep", ends)
    with lock.used_alone(path, mine):
        assert waits.is_set()
    os.close(mine)


def test_place_where_nothing_can_be_locked_is_told(path, monkeypatch):
    (path.parent / "file").touch()
    with pytest.raises(StoreUnusable, match="as the database: Not a directory"):
        lock.use(path.parent / "file" / "folder" / "feedkeep.db")
    unsupported = mock.Mock(side_effect=OSError(95, "Operation not supported"))
    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(StoreUnusable, match=r"Cannot lock .*Operation not supported"):
        lock.use(path)


def test_file_that_cannot_be_opened_is_told_with_what_to_do(path, monkeypatch):
    """`tests/proofs/test_damage.py` has a real read-only file system, where one can be mounted."""
    told = str(unusable(path, PermissionError(13, "Permission denied", str(path))))
    assert "as the database: Permission denied. " in told
    assert told.endswith(
        f"{path.parent} and all files in it have to belong to the user who runs this."
    )
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    told = str(unusable(path, OSError(30, "Read-only file system", f"{path}-wal")))
    assert f"Read-only file system ({path}-wal). " in told
    assert "Copy it, with its -wal if there is one" in told
