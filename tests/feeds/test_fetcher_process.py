"""The process that looks at feeds: it is another one, and what takes it down is only a failure."""

import asyncio
import os
import resource
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from forms import in_the_long_form
from msgspec.structs import replace
from structlog.testing import capture_logs
from test_child import WITH_FAULTS
from web_of_hosts import Host, Request, WebOfHosts, reply

from feedkeep.config.settings import Settings, load_settings
from feedkeep.feeds import fetcher_process as looking
from feedkeep.feeds.fetcher_process import FetcherProcess
from feedkeep.model import Failure, Feed, FetchResult, Stamp
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules.feed_urls import parse_feed_url

NOW = Stamp(1_795_370_000_000_000)
FEED = b"<rss><channel><title>A Show</title><item><guid>1</guid></item></channel></rss>"


@pytest.fixture
def web():
    with WebOfHosts() as web:
        yield web


def at(host: Host, path: str) -> Feed:
    url = f"http://{host.address}:{host.port}{path}"
    return Feed(parse_feed_url(url).guid, url, NOW, NOW)


def settings_for(*hosts: Host) -> Settings:
    ports = tuple(host.port for host in hosts)
    return Settings(fetch_allowed=("127.0.0.0/8",), fetch_ports=ports)


@pytest.fixture
async def process(chosen):
    process = FetcherProcess(chosen)
    try:
        yield process
    finally:
        await process.close()


def run(chosen: Settings, work: Callable[[FetcherProcess], Awaitable[None]]) -> None:
    async def go() -> None:
        process = FetcherProcess(chosen)
        try:
            await work(process)
        finally:
            await process.close()

    asyncio.run(go())


def children() -> set[int]:
    """Return the processes that this one has started, and that look at feeds."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = {int(pid) for file in listed for pid in _told(file).split()}
    return {pid for pid in pids if b"feedkeep.feeds.child" in _told(Path(f"/proc/{pid}/cmdline"))}


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _told(file: Path) -> bytes:
    """Return what the kernel tells of a process or a thread; nothing if that ends just now."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_feeds_are_looked_at_in_a_process_that_ends_with_this_one(web):
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED), "/b": reply(status=404)}

    async def work(process):
        assert not children()
        a, b = await asyncio.gather(
            process.look(at(host, "/a"), NOW), process.look(at(host, "/b"), NOW)
        )
        assert a.content is not None
        assert (a.content.title, b.failure) == ("A Show", Failure.NOT_FOUND)
        (child,) = children()
        assert os.getpriority(os.PRIO_PROCESS, child) >= 10
        assert {"feedkeep"} == {
            request.headers["user-agent"].split("/")[0] for request in host.requests
        }

    run(settings_for(host), work)
    assert not children()


def test_brief_looks_are_done_by_the_process_too(web):
    host = web.host("show.example")
    host.answers["/a"] = reply(FEED.replace(b"<item>", b"<item><enclosure url='/1.mp3'/>"))

    async def work(process):
        assert (await process.look_briefly(at(host, "/a"), NOW)).has_enclosures
        assert not (await process.look(at(host, "/a"), NOW)).has_enclosures

    run(settings_for(host), work)


def test_the_process_that_reads_strangers_feeds_is_given_no_other_setting(web):
    host = web.host("show.example")
    host.answers["/a"] = reply(FEED)
    secret = "postgresql://feedkeep:a-secret@127.0.0.1/feedkeep"

    async def work(process):
        assert (await process.look(at(host, "/a"), NOW)).content is not None
        (child,) = children()
        environment = _told(Path(f"/proc/{child}/environ")).decode()
        assert "fetch_allowed" in environment
        assert "a-secret" not in environment
        assert "database" not in environment

    run(replace(settings_for(host), database=secret), work)


def test_every_list_that_fetching_takes_may_be_as_long_as_can_be_set(web):
    host = web.host("show.example")
    host.answers["/a"] = reply(FEED)
    networks = tuple(f"2001:0db8:ffff:ffff:ffff:ffff:254.254.254.{n % 256}/128" for n in range(999))
    chosen = load_settings(
        {
            "fetch_allowed": ("127.0.0.0/8", *networks),
            "fetch_denied": (*networks, networks[0]),
            "fetch_ports": (host.port, *range(64_000, 64_999)),
            "fetch_contact": "x" * 200,
        },
        None,
        {},
    )

    async def work(process):
        assert (await process.look(at(host, "/a"), NOW)).content is not None

    run(chosen, work)


@in_the_long_form
def test_as_many_looks_as_can_be_set_have_memory_enough(web):
    hosts = [web.host(f"show{number}.example") for number in range(100)]
    item = b"<item><guid>%d</guid><description>" + b"x" * 400 + b"</description></item>"
    items = b"".join(item % number for number in range(18_000))
    large = reply(FEED.replace(b"</channel>", items + b"</channel>"))
    chosen = replace(settings_for(*hosts), fetch_connections=len(hosts))
    have_come = asyncio.Barrier(len(hosts))

    async def answer_all_at_once(_, writer):
        writer.write(large[:-1])
        await writer.drain()
        await have_come.wait()
        writer.write(large[-1:])

    async def work(process):
        for host in hosts:
            host.answers["/"] = answer_all_at_once
        for looked in await asyncio.gather(*(process.look(at(host, "/"), NOW) for host in hosts)):
            assert looked.failure is None
            assert looked.content is not None

    run(chosen, work)


def test_what_the_settings_do_not_allow_is_refused_there(web):
    host = web.host("show.example")

    async def work(process):
        looked = await process.look(at(host, "/a"), NOW)
        assert looked.failure is Failure.REFUSED

    run(Settings(), work)
    assert host.connections == 0


class Held:
    """Holds requests, and tells when so many have come."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._come = asyncio.Semaphore(0)

    async def __call__(self, _: Request, __: asyncio.StreamWriter) -> None:
        self._loop.call_soon_threadsafe(self._come.release)
        await asyncio.sleep(3_600)  # the web's end ends it

    async def until(self, count: int) -> None:
        for _ in range(count):
            await self._come.acquire()


def test_what_takes_the_process_down_alone_is_a_failure_and_another_one_begins(web):
    host = web.host("show.example")

    async def work(process):
        held = Held()
        host.answers = {"/a": reply(FEED), "/held": held}
        slow = asyncio.create_task(process.look(at(host, "/held"), NOW))
        await held.until(1)
        (child,) = children()
        os.kill(child, signal.SIGSEGV)
        assert (await slow).failure is Failure.CRASHED
        looked = await process.look(at(host, "/a"), NOW)
        assert looked.content is not None
        assert children() != {child}

    run(settings_for(host), work)


def test_of_feeds_that_took_the_process_down_together_each_is_judged_alone(web):
    hosts = [web.host(f"{number}.example") for number in range(3)]
    feeds = [at(host, "/") for host in hosts]

    async def work(process):
        held = Held()
        for host in hosts:
            host.answers["/"] = held
        looks = [asyncio.create_task(process.look(feed, NOW)) for feed in feeds]
        await held.until(3)
        (child,) = children()
        os.kill(child, signal.SIGABRT)
        lost = await asyncio.gather(*looks, return_exceptions=True)
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

    run(settings_for(*hosts), work)


def test_of_feeds_whose_process_was_ended_each_is_looked_at_alone(web):
    hosts = [web.host(f"{number}.example") for number in range(2)]
    feeds = [at(host, "/") for host in hosts]

    async def work(process):
        held = Held()
        for host in hosts:
            host.answers["/"] = held
        looks = [asyncio.create_task(process.look(feed, NOW)) for feed in feeds]
        await held.until(2)
        (child,) = children()
        os.kill(child, signal.SIGKILL)  # as the kernel does when memory is short
        lost = await asyncio.gather(*looks, return_exceptions=True)
        assert [type(one) for one in lost] == [MachineFailed] * 2
        process._rests_until = 0.0
        hosts[0].answers["/"] = hosts[1].answers["/"] = reply(FEED)
        for feed in feeds:
            assert (await process.look(feed, NOW)).content is not None
            assert not children()

    run(settings_for(*hosts), work)


def test_who_ends_the_process_makes_no_feed_fail(web, monkeypatch):
    host = web.host("show.example")
    monkeypatch.setattr(looking, "REST_SECONDS", 0.0)

    async def work(process):
        held = Held()
        host.answers = {"/a": reply(FEED), "/held": held}
        with capture_logs() as logs:
            for _ in range(2):
                slow = asyncio.create_task(process.look(at(host, "/held"), NOW))
                await held.until(1)
                (child,) = children()
                os.kill(child, signal.SIGKILL)
                with pytest.raises(MachineFailed):
                    await slow
        assert [log["event"] for log in logs] == ["cannot run feed fetcher; will retry"]
        assert (await process.look(at(host, "/a"), NOW)).content is not None

    run(settings_for(host), work)


def test_a_feed_that_takes_all_memory_also_when_looked_at_alone_fails_and_no_other_does(
    web, monkeypatch, tmp_path
):
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED), "/memory": reply(FEED)}
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{WITH_FAULTS}'\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(looking, "REST_SECONDS", 0.0)

    async def work(process):
        with pytest.raises(MachineFailed, match="memory"):  # another may have taken it
            await process.look(at(host, "/memory"), NOW)
        looked = await process.look(at(host, "/memory"), NOW)
        assert (looked.failure, looked.content) == (Failure.CRASHED, None)
        assert "memory" in looked.reason
        assert (await process.look(at(host, "/a"), NOW)).content is not None

    run(settings_for(host), work)


def test_a_process_without_a_file_to_ask_with_makes_no_feed_fail(web, monkeypatch):
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED)}
    monkeypatch.setattr(looking, "REST_SECONDS", 0.0)

    async def work(process):
        await process.look(at(host, "/a"), NOW)
        (child,) = children()
        some, most = resource.prlimit(child, resource.RLIMIT_NOFILE)
        open_now = open_files(child)
        resource.prlimit(child, resource.RLIMIT_NOFILE, (open_now, most))
        for _ in range(2):
            with pytest.raises(MachineFailed, match="files"):
                await process.look(at(host, "/a"), NOW)
        resource.prlimit(child, resource.RLIMIT_NOFILE, (some, most))
        assert (await process.look(at(host, "/a"), NOW)).content is not None
        assert children() == {child}

    run(settings_for(host), work)


def test_a_look_that_takes_too_long_ends_the_process(web, monkeypatch):
    monkeypatch.setattr(looking, "LOOK_SECONDS", 0.0)
    host = web.host("show.example")

    async def work(process):
        looked = await process.look(at(host, "/a"), NOW)
        assert looked.failure is Failure.CRASHED
        assert looked.reason.endswith(".")
        assert not children()

    run(settings_for(host), work)


def test_a_report_that_comes_too_late_keeps_no_other_look_from_its_own(web, monkeypatch):
    host = web.host("show.example")
    is_over, is_answered = threading.Event(), threading.Event()

    async def late(_, writer):
        await asyncio.to_thread(is_over.wait)
        writer.write(reply(FEED))
        is_answered.set()

    async def after(_, writer):
        await asyncio.to_thread(is_answered.wait)
        writer.write(reply(FEED))

    host.answers = {"/a": reply(FEED), "/late": late, "/after": after}

    class Hesitant(looking._Process):
        """Ends its process only after one more report."""

        async def end(self):
            if not is_over.is_set():
                monkeypatch.setattr(looking, "LOOK_SECONDS", 20.0)
                is_over.set()
                looked.append(await process.look(at(host, "/after"), NOW))
            await super().end()

    async def work():
        nonlocal process
        process = FetcherProcess(settings_for(host))
        await process.look(at(host, "/a"), NOW)
        monkeypatch.setattr(looking, "LOOK_SECONDS", 0.01)
        looked.append(await process.look(at(host, "/late"), NOW))
        await process.close()

    looked: list[FetchResult] = []
    process: FetcherProcess
    monkeypatch.setattr(looking, "_Process", Hesitant)
    asyncio.run(work())
    assert [one.failure for one in looked] == [None, Failure.CRASHED]


def test_where_no_process_can_be_started_no_feed_fails_and_it_is_logged_once(web, monkeypatch):
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED)}

    async def work(process):
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
        looked = await process.look(at(host, "/a"), NOW)
        assert looked.content is not None

    run(settings_for(host), work)


def test_the_process_is_given_nothing_of_this_ones_environment_but_what_it_needs(web, monkeypatch):
    monkeypatch.setenv("FEEDKEEP_DATABASE", "postgresql://feedkeep:secret@db.example/feedkeep")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example")
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED)}

    async def work(process):
        await process.look(at(host, "/a"), NOW)
        (child,) = children()
        environment = _told(Path(f"/proc/{child}/environ"))
        assert b"secret" not in environment
        assert b"HTTP_PROXY" not in environment
        assert b"RES_OPTIONS=timeout:2 attempts:2" in environment

    run(settings_for(host), work)
