"""The process that looks at feeds: it is another one, and what takes it down is only a failure."""

import asyncio
import os
import resource
import signal
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from forms import in_the_long_form
from msgspec.structs import replace
from scripted_looks import PATIENCE_SECONDS
from structlog.testing import capture_logs
from web_of_hosts import reply

from feedkeep.config.settings import Settings, load_settings
from feedkeep.feeds import fetcher_process as looking
from feedkeep.feeds.child import max_memory_bytes
from feedkeep.feeds.fetcher_process import FetcherProcess
from feedkeep.feeds.frames import (
    MAX_FRAME_BYTES,
    FetchJob,
    Lack,
    Report,
    read_frame,
    write_frame,
)
from feedkeep.model import Failure, Feed
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules.feed_urls import parse_feed_url

NOW = 1_795_370_000_000_000
FEED = b"<rss><channel><title>A Show</title><item><guid>1</guid></item></channel></rss>"


@pytest.fixture
def host(web):
    host = web.host("show.example")
    host.answers["/a"] = reply(FEED)
    return host


@asynccontextmanager
async def running(chosen):
    process = FetcherProcess(chosen)
    try:
        yield process
    finally:
        await process.close()


@pytest.fixture
async def process(host):
    async with running(settings_for(host)) as process:
        yield process


def settings_for(*hosts):
    ports = tuple(host.port for host in hosts)
    return Settings(fetch_allowed=("127.0.0.0/8",), fetch_ports=ports)


def at(host, path):
    url = f"http://{host.address}:{host.port}{path}"
    return Feed(parse_feed_url(url).guid, url, NOW, NOW)


def children():
    """Return the processes that this one has started, and that look at feeds."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = {int(pid) for file in listed for pid in told(file).split()}
    return {pid for pid in pids if b"feedkeep.feeds.child" in told(Path(f"/proc/{pid}/cmdline"))}


def told(file):
    """Return the content of a file in /proc; empty if the process or thread has just ended."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def open_files(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Held:
    """Holds requests, and tells when so many have come."""

    def __init__(self):
        self._loop = asyncio.get_running_loop()
        self._come = asyncio.Semaphore(0)

    async def __call__(self, _, __):
        self._loop.call_soon_threadsafe(self._come.release)
        await asyncio.sleep(3_600)  # the web's end ends it

    async def until(self, count):
        for _ in range(count):
            await self._come.acquire()


async def ended(process, held, feeds, by):
    """End the process by a signal while it looks at feeds; return what comes of each look."""
    looks = [asyncio.create_task(process.look(feed, NOW)) for feed in feeds]
    await held.until(len(feeds))
    (child,) = children()
    os.kill(child, by)
    return await asyncio.gather(*looks, return_exceptions=True)


async def test_process_looks_with_bounded_resources_and_knows_no_other_setting(host, monkeypatch):
    monkeypatch.setenv("FEEDKEEP_DATABASE", "postgresql://feedkeep:secret@db.example/feedkeep")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example")
    host.answers["/c"] = reply(FEED.replace(b"<item>", b"<item><enclosure url='/1.mp3'/>"))
    secret = "postgresql://feedkeep:a-secret@127.0.0.1/feedkeep"
    async with running(replace(settings_for(host), database=secret)) as process:
        assert not children()
        a, b = await asyncio.gather(
            process.look(at(host, "/a"), NOW), process.look(at(host, "/b"), NOW)
        )
        assert (a.content.title, b.failure) == ("A Show", Failure.NOT_FOUND)
        assert (await process.look_briefly(at(host, "/c"), NOW)).has_enclosures
        assert not (await process.look(at(host, "/c"), NOW)).has_enclosures
        agents = {request.headers["user-agent"].split("/")[0] for request in host.requests}
        assert agents == {"feedkeep"}
        (child,) = children()
        assert os.getpriority(os.PRIO_PROCESS, child) >= 10
        bounds = resource.prlimit(child, resource.RLIMIT_AS)
        assert bounds == (max_memory_bytes(Settings()),) * 2
        environment = told(Path(f"/proc/{child}/environ"))
        assert b"fetch_allowed" in environment
        assert b"RES_OPTIONS=timeout:2 attempts:2" in environment
        for other in (b"secret", b"database", b"DATABASE", b"HTTP_PROXY"):
            assert other not in environment
    assert not children()


@asynccontextmanager
async def child_of(host, *program):
    """Start the process as `FetcherProcess` does, but with all of this environment."""
    chosen = msgspec.json.encode(settings_for(host)).decode()
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, *program),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "FEEDKEEP_LOOKS_WITH": chosen},
    )
    try:
        yield child
        child.stdin.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await child.wait() == 0
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def test_child_ends_when_no_more_jobs_can_come_even_during_a_fetch(host):
    host.answers["/held"] = held = Held()
    async with child_of(host, "-m", "feedkeep.feeds.child") as child:
        child.stdin.write(write_frame(FetchJob(1, at(host, "/held"), NOW)))
        await held.until(1)


async def test_child_reports_each_job_by_its_number_also_those_that_fail(host):
    paths = ["/fault", "/memory", "/files", "/a"]
    async with child_of(host, "-c", WITH_FAULTS) as child:
        for number, path in enumerate(paths):
            child.stdin.write(write_frame(FetchJob(number, at(host, path), NOW)))
        reports = [
            msgspec.msgpack.decode(await read_frame(child.stdout), type=Report) for _ in paths
        ]
    found = {report.number: report.looked for report in reports}
    assert (found[0].failure, found[1], found[2]) == (Failure.CRASHED, Lack.MEMORY, Lack.FILES)
    assert "an unknown fault" in found[0].reason
    assert found[3].content.title == "A Show"


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0", write_frame("text")[:-1], (MAX_FRAME_BYTES + 1).to_bytes(4, "big") + b"x"],
    ids=["nothing", "half a length", "half a message", "too long"],
)
async def test_what_is_not_a_whole_message_ends_the_conversation(data):
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    assert await read_frame(reader) is None


async def test_every_list_that_fetching_takes_may_be_as_long_as_can_be_set(host):
    networks = tuple(f"2001:0db8:ffff:ffff:ffff:ffff:254.254.254.{n % 256}/128" for n in range(999))
    chosen = {
        "fetch_allowed": ("127.0.0.0/8", *networks),
        "fetch_denied": (*networks, networks[0]),
        "fetch_ports": (host.port, *range(64_000, 64_999)),
        "fetch_contact": "x" * 200,
    }
    async with running(load_settings(chosen, None, {})) as process:
        assert (await process.look(at(host, "/a"), NOW)).content is not None


@in_the_long_form
async def test_as_many_looks_as_can_be_set_have_memory_enough(web):
    hosts = [web.host(f"show{number}.example") for number in range(100)]
    item = b"<item><guid>%d</guid><description>" + b"x" * 400 + b"</description></item>"
    items = b"".join(item % number for number in range(18_000))
    large = reply(FEED.replace(b"</channel>", items + b"</channel>"))
    have_come = asyncio.Barrier(len(hosts))

    async def answer_all_at_once(_, writer):
        writer.write(large[:-1])
        await writer.drain()
        await have_come.wait()
        writer.write(large[-1:])

    async with running(replace(settings_for(*hosts), fetch_connections=100)) as process:
        for host in hosts:
            host.answers["/"] = answer_all_at_once
        for looked in await asyncio.gather(*(process.look(at(host, "/"), NOW) for host in hosts)):
            assert looked.failure is None
            assert looked.content is not None


async def test_host_that_the_settings_do_not_allow_is_refused_there(host):
    async with running(Settings()) as process:
        assert (await process.look(at(host, "/a"), NOW)).failure is Failure.REFUSED
    assert host.connections == 0


async def test_feed_that_crashes_the_process_alone_fails_and_a_new_process_starts(host, process):
    host.answers["/held"] = held = Held()
    (looked,) = await ended(process, held, [at(host, "/held")], signal.SIGSEGV)
    assert looked.failure is Failure.CRASHED
    assert (await process.look(at(host, "/a"), NOW)).content is not None
    assert len(children()) == 1


async def test_feeds_that_crashed_the_process_together_are_each_judged_alone(web):
    hosts = [web.host(f"{number}.example") for number in range(3)]
    feeds = [at(host, "/") for host in hosts]
    held = Held()
    for host in hosts:
        host.answers["/"] = held
    async with running(settings_for(*hosts)) as process:
        lost = await ended(process, held, feeds, signal.SIGABRT)
        assert [type(one) for one in lost] == [MachineFailed] * 3
        hosts[0].answers["/"] = hosts[1].answers["/"] = reply(FEED)
        assert (await process.look(feeds[0], NOW)).content is not None
        guilty = asyncio.create_task(process.look(feeds[2], NOW))
        await held.until(1)
        with pytest.raises(MachineFailed):  # it has its turn later
            await process.look(feeds[1], NOW)
        (child,) = children()
        os.kill(child, signal.SIGABRT)
        assert (await guilty).failure is Failure.CRASHED
        assert (await process.look(feeds[1], NOW)).content is not None
        assert not children()
        assert (await process.look(feeds[0], NOW)).content is not None
        assert len(children()) == 1  # it is looked at as any other again


async def test_killed_process_makes_no_feed_fail_and_each_is_then_looked_at_alone(web, monkeypatch):
    monkeypatch.setattr(looking, "REST_SECONDS", 0.0)
    hosts = [web.host(f"{number}.example") for number in range(2)]
    feeds = [at(host, "/") for host in hosts]
    hosts[0].answers["/"] = hosts[1].answers["/"] = held = Held()
    async with running(settings_for(*hosts)) as process:
        with capture_logs() as logs:
            for some in (feeds, feeds[:1]):  # as the kernel does when memory is short
                lost = await ended(process, held, some, signal.SIGKILL)
                assert [type(one) for one in lost] == [MachineFailed] * len(some)
        assert [log["event"] for log in logs] == ["cannot run feed fetcher; will retry"]
        hosts[0].answers["/"] = hosts[1].answers["/"] = reply(FEED)
        for feed in feeds:
            assert (await process.look(feed, NOW)).content is not None
            assert not children()


WITH_FAULTS = """
from feedkeep.feeds import child, fetcher
from feedkeep.outbound.failures import Exhausted

faults = {"memory": MemoryError(), "files": Exhausted(), "fault": LookupError("an unknown fault")}
look = fetcher.Fetcher.look

async def look_or_fail(self, feed, now):
    if fault := faults.get(feed.url.rpartition("/")[2]):
        raise fault
    return await look(self, feed, now)

fetcher.Fetcher.look = look_or_fail
child.main()
"""
"""The program of that process, where some looks fail by the path of their feed."""


async def test_feed_that_takes_all_memory_even_alone_or_has_an_unknown_fault_fails_and_no_other(
    host, process, monkeypatch, tmp_path
):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{WITH_FAULTS}'\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(looking, "REST_SECONDS", 0.0)
    for path, lack in (("/memory", "memory"), ("/files", "files")):  # another may have taken it
        with pytest.raises(MachineFailed, match=lack):
            await process.look(at(host, path), NOW)
    for path, reason in (("/memory", "memory"), ("/fault", "an unknown fault")):
        looked = await process.look(at(host, path), NOW)
        assert (looked.failure, looked.content) == (Failure.CRASHED, None)
        assert reason in looked.reason
    assert (await process.look(at(host, "/a"), NOW)).content is not None


async def test_process_without_a_file_to_ask_with_makes_no_feed_fail(host, process, monkeypatch):
    monkeypatch.setattr(looking, "REST_SECONDS", 0.0)
    await process.look(at(host, "/a"), NOW)
    (child,) = children()
    some, most = resource.prlimit(child, resource.RLIMIT_NOFILE)
    resource.prlimit(child, resource.RLIMIT_NOFILE, (open_files(child), most))
    for _ in range(2):
        with pytest.raises(MachineFailed, match="files"):
            await process.look(at(host, "/a"), NOW)
    resource.prlimit(child, resource.RLIMIT_NOFILE, (some, most))
    assert (await process.look(at(host, "/a"), NOW)).content is not None
    assert children() == {child}


async def test_look_that_takes_too_long_ends_the_process(host, process, monkeypatch):
    monkeypatch.setattr(looking, "LOOK_SECONDS", 0.0)
    looked = await process.look(at(host, "/a"), NOW)
    assert looked.failure is Failure.CRASHED
    assert looked.reason.endswith(".")
    assert not children()


async def test_report_that_comes_too_late_disturbs_no_other_look(host, process, monkeypatch):
    is_over, is_answered, looked = threading.Event(), threading.Event(), []

    async def late(_, writer):
        await asyncio.to_thread(is_over.wait)
        writer.write(reply(FEED))
        is_answered.set()

    async def after(_, writer):
        await asyncio.to_thread(is_answered.wait)
        writer.write(reply(FEED))

    class Hesitant(looking._Process):
        """Ends its process only after one more report."""

        async def end(self):
            if not is_over.is_set():
                monkeypatch.setattr(looking, "LOOK_SECONDS", 20.0)
                is_over.set()
                looked.append(await process.look(at(host, "/after"), NOW))
            await super().end()

    host.answers |= {"/late": late, "/after": after}
    monkeypatch.setattr(looking, "_Process", Hesitant)
    await process.look(at(host, "/a"), NOW)
    monkeypatch.setattr(looking, "LOOK_SECONDS", 0.01)
    looked.append(await process.look(at(host, "/late"), NOW))
    assert [one.failure for one in looked] == [None, Failure.CRASHED]


async def test_where_no_process_can_start_no_feed_fails_and_it_is_logged_once(
    host, process, monkeypatch
):
    with monkeypatch.context() as without, capture_logs() as logs:
        without.setattr(sys, "executable", "/nowhere/python")
        without.setattr(looking, "REST_SECONDS", 3_600.0)
        for _ in range(3):
            with pytest.raises(MachineFailed):
                await process.look(at(host, "/a"), NOW)
    (log,) = logs
    assert "/nowhere/python" in log["reason"]
    with pytest.raises(MachineFailed, match="just now"):  # nothing is tried meanwhile
        await process.look(at(host, "/a"), NOW)
    process._rests_until = 0.0
    assert (await process.look(at(host, "/a"), NOW)).content is not None
