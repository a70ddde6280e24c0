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
from waiting import until_so
from writers import Writers, going_on, wrong_after_kills


# C8.1
def test_nothing_acknowledged_is_lost_when_the_service_is_killed(start, each_kind, amount):
    assert wrong_after_kills(start(each_kind), amount(2, 1_000, 4)) == []


CUT = 0


def wrong_while_others_die(writers, kills, kill):
    """Kill processes that writers use; return the faults after a kill, and all statuses."""
    statuses = Counter()

    async def write(_, is_over):
        while not is_over.is_set():
            try:
                async with RawClient(writers.process.base_url, writers.token) as client:
                    while not is_over.is_set():
                        statuses[status := await writers.add(client)] += 1
                        await asyncio.sleep(0 if status == 200 else 0.01)
            except (OSError, EOFError):
                statuses[CUT] += 1  # its process was killed
                await asyncio.sleep(0)

    async def until_more():
        enough = statuses[200] + 20
        await until_so(lambda: statuses[200] >= enough)

    async def one():
        async with going_on(write):
            await until_more()
            await asyncio.sleep(random.uniform(0, 0.2))
            await asyncio.to_thread(kill)
            await until_more()

    for _ in range(kills):
        writers.take_a_short_list()
        asyncio.run(one())
        if wrong := writers.what_is_wrong():
            return wrong, set(statuses)
    return [], set(statuses)


@in_the_long_form
def test_the_other_worker_goes_on_when_one_is_killed_and_nothing_is_lost(start, amount):
    process = start("sqlite, 2 workers")

    def kill_one():
        process.wait_for_workers(2)
        os.kill(random.choice(process.workers()), signal.SIGKILL)

    wrong, statuses = wrong_while_others_die(Writers(process), amount(2, 200, 4), kill_one)
    assert wrong == []
    assert statuses - {CUT} == {200}


def test_nothing_acknowledged_is_lost_when_the_database_is_killed(amount):
    with PostgresServer() as server:
        process = FeedkeepProcess(server.folder, server.url, workers="2", log_level="error")

        def kill():
            server.stop(signal.SIGKILL)
            server.start()

        with process:
            wrong, statuses = wrong_while_others_die(Writers(process), amount(2, 100, 3), kill)
    assert wrong == []
    assert statuses <= {200, 503}


@in_the_long_form
@pytest.mark.parametrize(
    ("store_kind", "broken"),
    [("sqlite", "sqlite_commits_later"), ("postgres, 2 workers", "postgres_commits_later")],
)
def test_the_proof_notices_a_reply_before_the_commit(start, store_kind, broken):
    process = start(store_kind)
    writers = Writers(process)
    process.stop()
    process.run_first(broken)
    wrong = []
    for _ in range(10):
        process.start()
        asyncio.run(writers.write_for(0.3))
        if wrong := writers.what_is_wrong():
            break
    assert any("was lost" in sentence for sentence in wrong)
