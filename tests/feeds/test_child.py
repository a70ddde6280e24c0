"""The process that looks at feeds, by itself: given its errands, it reports, and ends with them."""

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest
from web_of_hosts import Host, WebOfHosts, reply

from feedkeep.config.settings import Settings
from feedkeep.feeds.child import max_memory_bytes
from feedkeep.feeds.frames import FetchJob, Lack, Report, read_frame, write_frame
from feedkeep.model import Failure, Feed, FetchResult, Stamp
from feedkeep.rules.feed_urls import parse_feed_url

PATIENCE_SECONDS = 30.0
NOW = Stamp(1_795_370_000_000_000)
FEED = b"<rss><channel><title>A Show</title><item><guid>1</guid></item></channel></rss>"


@pytest.fixture
def web():
    with WebOfHosts() as web:
        yield web


def errand(number: int, host: Host, path: str) -> bytes:
    url = f"http://{host.address}:{host.port}{path}"
    return write_frame(FetchJob(number, Feed(parse_feed_url(url).guid, url, NOW, NOW), NOW))


_AS_LOOKER_STARTS_IT = ("-m", "feedkeep.feeds.child")
WITH_FAULTS = """
from feedkeep.feeds import child
from feedkeep.outbound import failures
from feedkeep.feeds import fetcher

look = fetcher.Fetcher.look

async def look_or_fail(self, feed, now):
    if feed.url.endswith("/memory"):
        raise MemoryError
    if feed.url.endswith("/files"):
        raise failures.Exhausted
    if feed.url.endswith("/fault"):
        raise LookupError("an unknown fault")
    return await look(self, feed, now)

fetcher.Fetcher.look = look_or_fail
child.main()
"""
"""The program of that process, where some looks fail by the path of their feed."""


@asynccontextmanager
async def started(
    host: Host, program: Sequence[str] = _AS_LOOKER_STARTS_IT
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start it as `FetcherProcess` does, but with all of this environment; wait for its end."""
    chosen = Settings(fetch_allowed=("127.0.0.0/8",), fetch_ports=(host.port,))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *program,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "FEEDKEEP_LOOKS_WITH": msgspec.json.encode(chosen).decode()},
    )
    try:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await process.wait() == 0
    except BaseException:
        process.kill()
        await process.wait()
        raise


async def reported(process: asyncio.subprocess.Process) -> Report:
    assert process.stdout is not None
    frame = await read_frame(process.stdout)
    assert frame is not None
    return msgspec.msgpack.decode(frame, type=Report)


async def test_each_errand_is_reported_by_its_number_in_bounded_memory(web):
    host = web.host("show.example")
    host.answers["/"] = reply(FEED)
    async with started(host) as process:
        assert process.stdin is not None
        for number in (7, 8):
            process.stdin.write(errand(number, host, "/"))
            report = await reported(process)
            assert report.number == number
            assert isinstance(report.looked, FetchResult)
            assert report.looked.content is not None
            assert report.looked.content.title == "A Show"
        bounds = resource.prlimit(process.pid, resource.RLIMIT_AS)
        assert bounds == (max_memory_bytes(Settings()),) * 2
        assert os.getpriority(os.PRIO_PROCESS, process.pid) >= 10


async def test_a_look_that_fails_in_an_unknown_way_is_reported_and_the_others_go_on(web):
    host = web.host("show.example")
    host.answers["/"] = reply(FEED)
    async with started(host, ("-c", WITH_FAULTS)) as process:
        assert process.stdin is not None
        process.stdin.write(errand(1, host, "/fault"))
        looked = (await reported(process)).looked
        assert isinstance(looked, FetchResult)
        assert (looked.failure, looked.content) == (Failure.CRASHED, None)
        assert "an unknown fault" in looked.reason
        process.stdin.write(errand(2, host, "/memory"))
        assert (await reported(process)).looked is Lack.MEMORY
        process.stdin.write(errand(3, host, "/files"))
        assert (await reported(process)).looked is Lack.FILES
        process.stdin.write(errand(4, host, "/"))
        looked = (await reported(process)).looked
        assert isinstance(looked, FetchResult)
        assert looked.content is not None


def test_it_ends_when_no_more_errands_can_come_also_while_it_looks(web):
    host = web.host("mute.example")
    is_asked = asyncio.Event()

    async def mute(_, __):
        loop.call_soon_threadsafe(is_asked.set)
        await asyncio.sleep(3_600)  # the web's end ends it

    host.answers["/"] = mute

    async def go():
        nonlocal loop
        loop = asyncio.get_running_loop()
        async with started(host) as process:
            assert process.stdin is not None
            process.stdin.write(errand(1, host, "/"))
            await is_asked.wait()

    loop: asyncio.AbstractEventLoop
    asyncio.run(go())
