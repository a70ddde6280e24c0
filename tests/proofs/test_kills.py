"""An acknowledged write survives the death of the process, and of the database's process.

Clients write without a pause; all processes are killed at a random moment, and started again. Each
request adds three feeds: they have to be there all, or not at all, and all if it was acknowledged.
A kill cannot tell a synced write from one that the system still holds; that takes another test.
"""

import asyncio
import os
import random
import signal
from collections import Counter

import pytest
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from postgres_server import PostgresServer
from raw_client import RawClient
from writers import KILLS_OF_AN_ACCOUNT, WRITERS, Writers, wrong_after_kills


# C8.1
def test_nothing_acknowledged_is_lost_when_the_service_is_killed(start, each_kind, amount):
    assert wrong_after_kills(start(each_kind), amount(2, 1_000, 4)) == []


@in_the_long_form
def test_the_other_worker_goes_on_when_one_is_killed_and_nothing_is_lost(start, amount):
    chance = random.Random(3)
    process = start("sqlite, 2 workers")
    writers = Writers(process)
    statuses: Counter[int] = Counter()

    async def write(is_over):
        while not is_over.is_set():
            try:
                async with RawClient(process.base_url, writers.token) as client:
                    while not is_over.is_set():
                        statuses[await writers.add(client)] += 1
            except (OSError, EOFError):
                await asyncio.sleep(0)  # its process was killed

    async def until_more():
        enough = statuses[200] + 50
        async with asyncio.timeout(20):
            while statuses[200] < enough:  # noqa: ASYNC110 - no single writer has an event for it
                await asyncio.sleep(0.01)

    async def kill_one(pid):
        is_over = asyncio.Event()
        writing = [asyncio.create_task(write(is_over)) for _ in range(WRITERS)]
        await until_more()
        await asyncio.sleep(chance.uniform(0, 0.1))
        os.kill(pid, signal.SIGKILL)
        await until_more()  # before there is another one
        is_over.set()
        await asyncio.gather(*writing)

    for number in range(amount(2, 200, 4)):
        if number % KILLS_OF_AN_ACCOUNT == 0:
            writers.take_a_new_account()
        asyncio.run(kill_one(chance.choice(process.workers())))
        assert writers.what_is_wrong() == []
        process.wait_for_workers(2)
    assert set(statuses) == {200}


@in_the_long_form
@pytest.mark.parametrize(
    ("store_kind", "broken"),
    [("sqlite", "sqlite_commits_later"), ("postgres, 2 workers", "postgres_commits_later")],
)
def test_the_proof_notices_a_reply_before_the_commit(start, store_kind, broken):
    healthy = start(store_kind)
    writers = Writers(healthy)
    healthy.stop()
    healthy.run_first(broken)
    wrong: list[str] = []
    for _ in range(10):
        healthy.start()
        asyncio.run(writers.write_for(0.3))
        if wrong := writers.what_is_wrong():
            break
    assert any("was lost" in sentence for sentence in wrong)


def test_nothing_acknowledged_is_lost_when_the_database_is_killed(amount):
    chance = random.Random(2)
    with PostgresServer() as server:
        process = FeedkeepProcess(server.folder, server.url, workers="2", log_level="error")
        with process:
            writers = Writers(process)

            async def write(seconds):
                is_over, has_written = asyncio.Event(), asyncio.Event()

                async def one():
                    async with RawClient(process.base_url, writers.token) as client:
                        while not is_over.is_set():
                            if await writers.add(client) == 503:
                                await asyncio.sleep(0.01)
                            else:
                                has_written.set()

                writing = [asyncio.create_task(one()) for _ in range(WRITERS)]
                await asyncio.wait_for(has_written.wait(), 20)  # what is killed is in use
                await asyncio.sleep(seconds)
                server.stop(signal.SIGKILL)
                await asyncio.to_thread(server.start)
                has_written.clear()
                await asyncio.wait_for(has_written.wait(), 20)
                is_over.set()
                await asyncio.gather(*writing)

            for number in range(amount(2, 100, 3)):
                if number % KILLS_OF_AN_ACCOUNT == 0:
                    writers.take_a_new_account()
                asyncio.run(write(chance.uniform(0.01, 0.3)))
                assert writers.what_is_wrong() == []
