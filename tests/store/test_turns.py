"""Processes that write one SQLite file take turns, also when one of them hangs or is killed.

Each object has the locks open by itself, as a process of its own has.
"""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from threading import Thread

import pytest
from small_lists import account, opened

from feedkeep.model.errors import StoreUnavailable
from feedkeep.store.sqlite import turns
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


async def test_process_continues_without_a_turn_that_does_not_come_and_keeps_no_late_one(
    path, monkeypatch, first, second
):
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


def test_process_that_is_closed_while_it_waits_keeps_no_turn_nor_after_its_loop(
    path, monkeypatch, first
):
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


async def test_store_writes_while_another_process_hangs_in_its_turn(
    path, monkeypatch, store, first
):
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.1)
    await first.take()
    for _ in range(3):
        await store.assert_ready()
    first.give()
    await until(lambda: store._runner._turns._taking is None)
    await store.assert_ready()
    assert not is_held(path, "turn")
    await first.take()  # and the store can be closed, too


async def test_turn_ends_in_the_thread_of_the_commit_before_the_event_loop_knows_of_it(
    path, monkeypatch, store
):
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
