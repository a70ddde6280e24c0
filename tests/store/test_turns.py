"""Processes that write one SQLite file take turns, also when one of them hangs or is killed.

Each object has the locks open by itself, as a process of its own has.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from test_sqlite import run as run_store

from feedkeep.model.errors import StoreUnavailable
from feedkeep.store.sqlite import SqliteStore, runner
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


def test_who_gives_the_turn_away_and_wants_it_back_waits_behind_the_next_one(path: Path) -> None:
    async def work(first: WriteTurns, second: WriteTurns) -> None:
        for _ in range(20):
            await first.take(PATIENCE_SECONDS)
            waiting = asyncio.create_task(second.take(PATIENCE_SECONDS))
            await until(lambda: is_held(path, "next"))
            first.give()
            back = asyncio.create_task(first.take(PATIENCE_SECONDS))  # at once
            await waiting
            assert not back.done()
            second.give()
            await back
            first.give()

    run(work, path)


def test_a_turn_that_does_not_come_is_an_error_and_one_that_comes_too_late_is_left_to_others(
    path: Path,
) -> None:
    async def work(first: WriteTurns, second: WriteTurns) -> None:
        await first.take(PATIENCE_SECONDS)
        for _ in range(3):  # who asks again waits at the same place
            with pytest.raises(StoreUnavailable, match="another process writes it"):
                await second.take(0.01)
        first.give()
        await until(lambda: second._taking is None)
        assert not is_held(path, "turn")
        await second.take(0)
        assert is_held(path, "turn")
        second.give()

    run(work, path)


TAKES_THE_TURN = """
import asyncio, pathlib, sys
from feedkeep.store.sqlite.turns import WriteTurns
turns = WriteTurns(pathlib.Path(sys.argv[1]))
asyncio.run(turns.take(0))
print("taken", flush=True)
sys.stdin.read()
"""


def test_a_process_that_is_killed_leaves_its_turn(path: Path) -> None:
    command = [sys.executable, "-c", TAKES_THE_TURN, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"

        async def work(first: WriteTurns, _second: WriteTurns) -> None:
            waiting = asyncio.create_task(first.take(PATIENCE_SECONDS))
            await until(lambda: is_held(path, "next"))
            other.send_signal(signal.SIGKILL)
            await waiting
            first.give()

        run(work, path)


def test_while_a_process_hangs_with_its_turn_others_read_and_refuse_to_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(store: SqliteStore) -> None:
        hanging = WriteTurns(path)
        await hanging.take(PATIENCE_SECONDS)
        with monkeypatch.context() as hasty:
            hasty.setattr(runner, "WRITER_PATIENCE_SECONDS", 0.01)
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="another process writes it"):
                    await store.assert_ready()
            assert await store.accounts.are_there()
        writing = asyncio.create_task(store.assert_ready())
        await until(lambda: is_held(path, "next"))
        hanging.give()
        await writing
        await hanging.take(PATIENCE_SECONDS)  # the store has given it away
        monkeypatch.setattr(runner, "WRITER_PATIENCE_SECONDS", 0.01)  # and can be closed, too

    run_store(path, work)
