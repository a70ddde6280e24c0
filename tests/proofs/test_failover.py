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
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from balancer import carry
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form
from postgres_server import PostgresServer, execute
from raw_client import RawClient
from writers import Writers

CLIENTS = 16
BEFORE, AFTER = 100, 100
LONGEST_SECONDS = 5.0
"""How long after the promotion the first write may take; seen was a tenth of it."""


@dataclass
class Outage:
    """What clients saw of a failover.

    Attributes:
        seconds: How long no write was acknowledged.
        after_promotion_seconds: How much of that was after there was a primary again.
        refused: How many requests got 503.
        slowest_seconds: How long the slowest request took.
        wrong: What was answered otherwise.
    """

    seconds: float = 0.0
    after_promotion_seconds: float = 0.0
    refused: int = 0
    slowest_seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


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
        try:
            source, request = await asyncio.open_connection("127.0.0.1", self.server_port)
        except OSError:
            reply.transport.abort()
            return
        await asyncio.gather(carry(client, request), carry(source, reply))


class Pair:
    """A primary and its standby, and a URL that leads to whichever takes writes.

    Attributes:
        url: The URL.
    """

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
        """Have the one that was killed follow the other one."""
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


async def write_over_a_failover(pair, writers, base_url):
    """Write while it fails over; return what clients saw."""
    outage, is_over = Outage(), asyncio.Event()
    acknowledged = []

    async def one():
        async with RawClient(base_url, writers.token) as client:
            while not is_over.is_set():
                asked = time.monotonic()
                status = await writers.add(client)
                now = time.monotonic()
                outage.slowest_seconds = max(outage.slowest_seconds, now - asked)
                if status == 200:
                    acknowledged.append(now)
                elif status == 503:
                    outage.refused += 1
                    await asyncio.sleep(0.02)
                else:
                    outage.wrong.append(f"the answer was {status}")

    async def until(count):
        async with asyncio.timeout(60):
            while len(acknowledged) < count:  # noqa: ASYNC110 - in this loop, many tell
                await asyncio.sleep(0.005)

    writing = [asyncio.create_task(one()) for _ in range(CLIENTS)]
    await until(BEFORE)
    killed, promoted = await asyncio.to_thread(pair.fail_over)
    so_far = len(acknowledged)
    await until(so_far + AFTER)
    is_over.set()
    await asyncio.gather(*writing)
    # What was committed before may be answered just after the kill, so the longest gap counts.
    outage.seconds, goes_on = max(
        (later - earlier, later)
        for earlier, later in pairwise(acknowledged)
        if later > killed and earlier < promoted
    )
    outage.after_promotion_seconds = max(0.0, goes_on - promoted)
    return outage


def fail_over_again_and_again(pair, times):
    """Return what clients saw, and what is wrong after some failover, if anything is."""
    outages = []
    pair.primary.acknowledge_with_standby()
    process = FeedkeepProcess(pair.primary.folder, pair.url, workers="2", log_level="error")
    with process:
        process.wait_for_workers(2)
        writers = Writers(process)
        for number in range(times):
            if number:
                pair.rejoin()
            outages.append(asyncio.run(write_over_a_failover(pair, writers, process.base_url)))
            if wrong := outages[-1].wrong + writers.what_is_wrong():
                return outages, wrong
    return outages, []


def test_nothing_acknowledged_is_lost_when_postgres_fails_over(pair, amount):
    outages, wrong = fail_over_again_and_again(pair, amount(1, 10))
    assert wrong == []
    assert all(one.after_promotion_seconds < LONGEST_SECONDS for one in outages), outages


@in_the_long_form
def test_the_proof_notices_a_standby_that_no_commit_waits_for():
    with PostgresServer() as first, first.standby() as second:
        pair = Pair(first, second, None)
        with FeedkeepProcess(first.folder, pair.url, log_level="error") as process:
            writers = Writers(process)
            second.wait_for(first)  # else there may be no account after the failover
            second.stop()
            asyncio.run(write_over_a_failover(pair, writers, process.base_url))
            assert any("was lost" in sentence for sentence in writers.what_is_wrong())
