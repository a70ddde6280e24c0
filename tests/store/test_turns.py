"""Processes that write one SQLite file take turns, also when one of them hangs or is killed.

Each object has the locks open by itself, as a process of its own has.
"""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import Thread

import pytest

from feedkeep.model import Account, AccountId
from feedkeep.model.errors import StoreUnavailable
from feedkeep.store.sqlite import turns
from feedkeep.store.sqlite.file_identity import FileIdentity
from feedkeep.store.sqlite.lock import open_turn
from feedkeep.store.sqlite.turns import WriteTurns

PATIENCE_SECONDS = 30.0


def run(work: Callable[[WriteTurns, WriteTurns], Awaitable[None]], path: Path) -> None:
    async def go() -> None:
        first, second = WriteTurns(path), WriteTurns(path)
        await work(first, second)
        first.close()
        second.close()

    asyncio.run(go())


def is_held(path: Path, name: str) -> bool:
    descriptor = open_turn(path, name)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():  # noqa: ASYNC110 - what is waited for is in another thread
            await asyncio.sleep(0.001)


def test_who_gives_the_turn_away_and_wants_it_back_waits_behind_the_next_one(path):
    async def work(first, second):
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

    run(work, path)


def test_a_process_goes_on_without_a_turn_that_does_not_come_and_leaves_a_late_one_to_others(
    path, monkeypatch
):
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.01)

    async def work(first, second):
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

    run(work, path)


def test_who_waits_and_is_closed_keeps_no_turn_also_once_its_loop_has_ended(path, monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.01)
    first = WriteTurns(path)
    for is_closed in (True, False):
        asyncio.run(first.take())
        second = WriteTurns(path)
        asyncio.run(second.take())
        if is_closed:
            second.close()
        first.give()
        asyncio.run(until(lambda: not is_held(path, "next") and not is_held(path, "turn")))
    first.close()


def test_a_machine_without_room_for_a_thread_writes_without_a_turn(path, monkeypatch):
    def no_room(_thread):
        raise RuntimeError("can't start new thread")

    async def work(first, second):
        await first.take()
        monkeypatch.setattr(Thread, "start", no_room)
        await second.take()
        assert not second._has_turn
        monkeypatch.undo()
        first.give()
        await second.take()
        assert second._has_turn

    run(work, path)


def test_the_locks_belong_to_the_owner_of_the_database(path):
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


def test_a_process_that_is_killed_leaves_its_turn(path):
    command = [sys.executable, "-c", TAKES_THE_TURN, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"

        async def work(first, _second):
            waiting = asyncio.create_task(first.take())
            await until(lambda: is_held(path, "next"))
            other.send_signal(signal.SIGKILL)
            await waiting
            first.give()

        run(work, path)


async def test_a_store_writes_while_a_process_hangs_in_its_turn_and_takes_its_own_afterwards(
    path, store
):
    hanging = WriteTurns(path)
    await hanging.take()
    for _ in range(3):
        await store.assert_ready()
    hanging.give()
    await until(lambda: store._runner._turns._taking is None)
    await store.assert_ready()
    assert not is_held(path, "turn")
    await hanging.take()  # and it can be closed, too


async def test_a_turn_ends_in_the_thread_of_the_commit_before_a_busy_event_loop_knows_of_it(
    path, monkeypatch, store
):
    were_held: list[bool] = []
    check = FileIdentity.assert_in_place

    def check_and_note(place):  # the last step in that thread
        were_held.append(is_held(path, "turn"))
        check(place)

    monkeypatch.setattr(FileIdentity, "assert_in_place", check_and_note)
    await store.accounts.create(Account(AccountId(9), "bob", None, False, 0), "bob")
    assert were_held[-1] is False


async def test_a_batch_that_is_refused_since_a_file_is_lost_ends_its_transaction_and_its_turn(
    path, store
):
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
