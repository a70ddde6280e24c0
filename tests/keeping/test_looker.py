"""The process that looks at feeds: it is another one, and what takes it down is only a failure."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from web_of_hosts import Host, Request, WebOfHosts, reply

from feedkeep.feeds import looker as looking
from feedkeep.feeds.looker import Looker
from feedkeep.model import Failure, Feed, Looked, Stamp
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.settings import Settings

NOW = Stamp(1_795_370_000_000_000)
FEED = b"<rss><channel><title>A Show</title><item><guid>1</guid></item></channel></rss>"


@pytest.fixture
def web() -> Iterator[WebOfHosts]:
    with WebOfHosts() as web:
        yield web


def at(host: Host, path: str) -> Feed:
    url = f"http://{host.address}:{host.port}{path}"
    return Feed(parse_feed_url(url).guid, url, NOW, NOW)


def settings_for(*hosts: Host) -> Settings:
    ports = tuple(host.port for host in hosts)
    return Settings(fetch_allowed=("127.0.0.0/8",), fetch_ports=ports)


def run(chosen: Settings, work: Callable[[Looker], Awaitable[None]]) -> None:
    async def go() -> None:
        looker = Looker(chosen)
        try:
            await work(looker)
        finally:
            await looker.close()

    asyncio.run(go())


def children() -> set[int]:
    """Return the processes that this one has started, and that look at feeds."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = {int(pid) for file in listed for pid in _told(file).split()}
    return {pid for pid in pids if b"feedkeep.feeds.child" in _told(Path(f"/proc/{pid}/cmdline"))}


def _told(file: Path) -> bytes:
    """Return what the kernel tells of a process or a thread; nothing if that ends just now."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_feeds_are_looked_at_in_a_process_that_ends_with_this_one(web: WebOfHosts) -> None:
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED), "/b": reply(status=404)}

    async def work(looker: Looker) -> None:
        assert not children()
        a, b = await asyncio.gather(
            looker.look(at(host, "/a"), NOW), looker.look(at(host, "/b"), NOW)
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


def test_what_the_settings_do_not_allow_is_refused_there(web: WebOfHosts) -> None:
    host = web.host("show.example")

    async def work(looker: Looker) -> None:
        looked = await looker.look(at(host, "/a"), NOW)
        assert looked.failure is Failure.REFUSED

    run(Settings(), work)
    assert host.connections == 0


def test_what_takes_the_process_down_is_a_failure_and_another_one_begins(web: WebOfHosts) -> None:
    host = web.host("show.example")
    is_asked = asyncio.Event()

    async def never(_: Request, __: asyncio.StreamWriter) -> None:
        loop.call_soon_threadsafe(is_asked.set)
        await asyncio.sleep(3_600)  # the web's end ends it

    host.answers = {"/a": reply(FEED), "/slow": never}

    async def work(looker: Looker) -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        slow = asyncio.create_task(looker.look(at(host, "/slow"), NOW))
        await is_asked.wait()
        (child,) = children()
        os.kill(child, signal.SIGKILL)
        assert (await slow).failure is Failure.CRASHED
        looked = await looker.look(at(host, "/a"), NOW)
        assert looked.content is not None
        assert children() != {child}

    loop: asyncio.AbstractEventLoop
    run(settings_for(host), work)


def test_a_look_that_takes_too_long_ends_the_process(
    web: WebOfHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LOOK_SECONDS", 0.0)
    host = web.host("show.example")

    async def work(looker: Looker) -> None:
        looked = await looker.look(at(host, "/a"), NOW)
        assert looked.failure is Failure.CRASHED
        assert looked.reason.endswith(".")
        assert not children()

    run(settings_for(host), work)


def test_a_report_that_comes_too_late_keeps_no_other_look_from_its_own(
    web: WebOfHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = web.host("show.example")
    is_over, is_answered = threading.Event(), threading.Event()

    async def late(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(is_over.wait)
        writer.write(reply(FEED))
        is_answered.set()

    async def after(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(is_answered.wait)
        writer.write(reply(FEED))

    host.answers = {"/a": reply(FEED), "/late": late, "/after": after}

    class Hesitant(Looker):
        """Ends its process only after one more report."""

        async def _end(self, process: asyncio.subprocess.Process) -> None:
            if not is_over.is_set():
                monkeypatch.setattr(looking, "LOOK_SECONDS", 20.0)
                is_over.set()
                looked.append(await self.look(at(host, "/after"), NOW))
            await super()._end(process)

    async def work() -> None:
        looker = Hesitant(settings_for(host))
        await looker.look(at(host, "/a"), NOW)
        monkeypatch.setattr(looking, "LOOK_SECONDS", 0.01)
        looked.append(await looker.look(at(host, "/late"), NOW))
        await looker.close()

    looked: list[Looked] = []
    asyncio.run(work())
    assert [one.failure for one in looked] == [None, Failure.CRASHED]


def test_where_no_process_can_be_started_that_is_a_failure_and_tried_again(
    web: WebOfHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED)}

    async def work(looker: Looker) -> None:
        with monkeypatch.context() as without:
            without.setattr(sys, "executable", "/nowhere/python")
            looked = await looker.look(at(host, "/a"), NOW)
        assert looked.failure is Failure.CRASHED
        looked = await looker.look(at(host, "/a"), NOW)
        assert looked.content is not None

    run(settings_for(host), work)


def test_the_process_is_given_nothing_of_this_ones_environment_but_what_it_needs(
    web: WebOfHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEEDKEEP_DATABASE", "postgresql://feedkeep:secret@db.example/feedkeep")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example")
    host = web.host("show.example")
    host.answers = {"/a": reply(FEED)}

    async def work(looker: Looker) -> None:
        await looker.look(at(host, "/a"), NOW)
        (child,) = children()
        environment = _told(Path(f"/proc/{child}/environ"))
        assert b"secret" not in environment
        assert b"HTTP_PROXY" not in environment

    run(settings_for(host), work)
