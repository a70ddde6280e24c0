"""PostgreSQL fails over to its synchronous standby under load: nothing acknowledged is lost.

The primary is killed and the standby promoted, as a failover manager of PostgreSQL does it.
feedkeep finds the new primary by itself: among the hosts of its URL, or behind one address that
moves on.
"""

import asyncio
import signal
import threading
import time
from contextlib import ExitStack
from itertools import pairwise

import pytest
from balancer import pass_on
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form
from postgres_server import PostgresServer, execute
from raw_client import RawClient
from waiting import until_so
from writers import Writers, going_on

CLIENTS = 16
BEFORE, AFTER = 100, 100
LONGEST_SECONDS = 5.0  # until the first write after the promotion; seen was a tenth of it


class OneAddress:
    """Stands for an address that moves from one server to the next one."""

    port = 0

    def __init__(self, server_port):
        self.server_port = server_port
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self):
        self._thread.start()
        assert self._is_open.wait(20)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join()

    async def _serve(self):
        self._loop, self._is_over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._is_open.set()
        await self._is_over.wait()
        server.close()

    async def _pass_on(self, client, reply):
        await pass_on(client, reply, ("127.0.0.1", self.server_port))


class Pair:
    """A primary and its standby, and a URL that leads to whichever takes writes."""

    def __init__(self, first, second, moving):
        self.primary, self.standby = first, second
        self._moving = moving
        ports = [moving.port] if moving else [first.port, second.port]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"postgresql://feedkeep@{hosts}/postgres"

    def fail_over(self):
        """Kill the primary, and promote its standby; return when each of it was done."""
        self.primary.stop(signal.SIGKILL)
        killed = time.monotonic()
        if self.standby.process.poll() is not None:
            self.standby.start()
        execute(self.standby.url, "SELECT pg_promote()")
        promoted = time.monotonic()
        self.primary, self.standby = self.standby, self.primary
        if self._moving:
            self._moving.server_port = self.primary.port
        return killed, promoted

    def rejoin(self):
        self.standby.follow(self.primary)
        self.primary.acknowledge_with_standby()


@pytest.fixture(params=first_of("several hosts", "one address"))
def pair(request):
    with ExitStack() as stack:
        first = stack.enter_context(PostgresServer())
        moving = None
        if request.param == "one address":
            moving = stack.enter_context(OneAddress(first.port))
        yield Pair(first, stack.enter_context(first.standby()), moving)


async def write_over_a_failover(pair, writers):
    """Write while it fails over; return how long none was acknowledged, in all and after it."""
    acknowledged = []

    async def write(_, is_over):
        async with RawClient(writers.process.base_url, writers.token) as client:
            while not is_over.is_set():
                status = await writers.add(client)
                assert status in {200, 503}
                if status == 200:
                    acknowledged.append(time.monotonic())
                else:
                    await asyncio.sleep(0.02)

    async def until_more(count):
        enough = len(acknowledged) + count
        await until_so(lambda: len(acknowledged) >= enough)

    async with going_on(write, CLIENTS):
        await until_more(BEFORE)
        killed, promoted = await asyncio.to_thread(pair.fail_over)
        await until_more(AFTER)
    # Earlier commits may be answered just after the kill, so the longest gap counts.
    gap_seconds, goes_on = max(
        (later - earlier, later)
        for earlier, later in pairwise(acknowledged)
        if later > killed and earlier < promoted
    )
    return gap_seconds, max(0.0, goes_on - promoted)


def test_nothing_acknowledged_is_lost_when_postgres_fails_over(pair, amount):
    pair.primary.acknowledge_with_standby()
    process = FeedkeepProcess(pair.primary.folder, pair.url, workers="2", log_level="error")
    with process:
        process.wait_for_workers(2)
        writers = Writers(process)
        for number in range(amount(1, 10)):
            if number:
                pair.rejoin()
            took_seconds = asyncio.run(write_over_a_failover(pair, writers))
            assert writers.what_is_wrong() == []
            assert took_seconds[1] < LONGEST_SECONDS, took_seconds


@in_the_long_form
def test_the_proof_notices_a_standby_that_no_commit_waits_for():
    with PostgresServer() as first, first.standby() as second:
        pair = Pair(first, second, None)
        with FeedkeepProcess(first.folder, pair.url, log_level="error") as process:
            writers = Writers(process)
            second.wait_for(first)  # else there may be no account after the failover
            second.stop()
            asyncio.run(write_over_a_failover(pair, writers))
            assert any("was lost" in sentence for sentence in writers.what_is_wrong())
