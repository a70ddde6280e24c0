"""Processes behind a balancer are restarted one after another, and no client notices.

Clients write and read without a pause, and try nothing a second time; nor does the balancer. What
one process has acknowledged is read from another one.
"""

import asyncio
import csv
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from balancer import Balancer
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from postgres_server import free_port
from raw_client import RawClient
from writers import going_on, kept_of

PROCESSES = 3
CLIENTS = 16
RUNBOOK = Path(__file__).parents[2] / "docs" / "postgresql.md"
NO_HAPROXY = "There is no haproxy on this machine."


class AtOnePort(FeedkeepProcess):
    """A service that has the same port with each start, as behind a balancer."""

    port = 0

    def start(self):
        self.port = self.port or free_port()
        super().start()

    def _launched(self, *arguments):
        *others, last = arguments
        return super()._launched(*others, str(self.port) if last == "0" else last)


@pytest.fixture
def processes(database, start):
    """Starts several processes on one database, each as if on a machine of its own."""
    settings = {"database": database, "serves": AtOnePort}
    return lambda drain_seconds: [
        start(drain_seconds=drain_seconds, **settings) for _ in range(PROCESSES)
    ]


def user(base_url, process, seen):
    """Return a coroutine function for clients that read and write; half keep their connections."""
    names = [process.new_account() for _ in range(CLIENTS // 2)]
    tokens = [process.new_token(name) for name in names]
    acknowledged = [seen.acknowledged.setdefault(name, set()) for name in names]

    async def one(number, is_over):
        token, kept = tokens[number // 2], acknowledged[number // 2]
        asked = 0
        while not is_over.is_set():
            try:
                async with RawClient(base_url, token, is_kept_alive=number % 2 == 0) as client:
                    is_last = False
                    while not (is_last or is_over.is_set()):
                        asked += 1
                        is_last = await ask(client, f"https://{number}.example/{asked}", kept)
            except (OSError, EOFError) as error:
                seen.failed.append(f"{type(error).__name__} of client {number}")
                await asyncio.sleep(0.01)  # not to fill the memory if all of them fail

    async def ask(client, url, kept):
        """Add a feed, or look for one that was added; say whether the connection ends."""
        seen.requests += 1
        if url.endswith(("0", "3", "6", "9")) or not kept:
            answer = await client.add(url)
            if answer.status == 200:
                kept.add(url)
        else:
            known = len(kept)
            answer = await client.ask("GET", "/subscriptions?per_page=1")
            if answer.status == 200 and answer.body["total"] < known:
                seen.failed.append("a process does not know what another one has acknowledged")
        if answer.status != 200:
            seen.failed.append(f"{answer.status} {answer.body}")
        return answer.is_last

    return one


async def roll(processes, balancer, times):
    seen = SimpleNamespace(acknowledged={}, failed=[], requests=0)
    async with going_on(user(balancer.base_url, processes[0], seen), CLIENTS):
        for process in times * processes:
            await until_in_use(balancer)
            await asyncio.to_thread(process.stop)
            await asyncio.to_thread(process.start)
        await until_in_use(balancer)
    return seen


async def until_in_use(balancer):
    """Wait until each process was given some more connections, and so is ready and in use."""
    async with asyncio.timeout(60):
        while min((before := await balancer.given()).values()) < 1:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)
        while not _is_more(await balancer.given(), before):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.02)


def _is_more(given, before):
    return all(count >= before[name] + 5 for name, count in given.items())


def wrong(processes, seen):
    sentences = list(seen.failed)
    for name, acknowledged in seen.acknowledged.items():
        kept = processes[0].use(lambda service, name=name: kept_of(service, name))
        sentences += [f"{url} was lost" for url in acknowledged - kept]
    if seen.requests < 100 * PROCESSES:
        sentences.append(f"only {seen.requests} requests")
    return sentences


@in_the_long_form
@pytest.mark.parametrize(("drain_seconds", "is_noticed"), [("1", False), ("0", True)])
async def test_a_rolling_restart_fails_no_request(processes, amount, drain_seconds, is_noticed):
    started = processes(drain_seconds)
    async with Balancer([process.base_url for process in started]) as balancer:
        seen = await roll(started, balancer, 1 if is_noticed else amount(1, 20))
    assert (wrong(started, seen) != []) is is_noticed


class Haproxy:
    """haproxy with the configuration of docs/postgresql.md, on a free port of loopback."""

    def __init__(self, folder, processes):
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._control = folder / "control"
        self._file = folder / "haproxy.cfg"
        (told,) = re.findall(r"```haproxy\n(.*?)```", RUNBOOK.read_text("utf-8"), re.DOTALL)
        for process in processes:
            address = httpx.URL(process.base_url).netloc.decode()
            told = re.sub(r"[\w.]+\.example:8080", address, told, count=1)
        told = re.sub(r"bind .*", f"bind 127.0.0.1:{self.port}", told)
        told = re.sub(r"stats socket \S+", f"stats socket {self._control}", told)
        assert ".example" not in told
        self._file.write_text(told)

    @contextmanager
    def running(self):
        with subprocess.Popen(["haproxy", "-db", "-f", self._file]) as process:
            try:
                yield
            finally:
                process.terminate()

    async def given(self):
        """Return the number of sessions that each process received; -1 if it is not ready."""
        try:
            reader, writer = await asyncio.open_unix_connection(self._control)
        except OSError:  # it is just starting
            return dict.fromkeys("123", -1)
        writer.write(b"show stat\n")
        table = (await reader.read()).decode().removeprefix("# ")
        writer.close()
        rows = list(csv.DictReader(table.splitlines()))
        servers = [row for row in rows if row["svname"] not in {"FRONTEND", "BACKEND"}]
        assert len(servers) == PROCESSES
        return {row["svname"]: int(row["stot"]) if row["status"] == "UP" else -1 for row in servers}


@in_the_long_form
async def test_a_rolling_restart_behind_haproxy_fails_no_request(tmp_path, processes, amount):
    if shutil.which("haproxy") is None:
        pytest.skip(NO_HAPROXY)
    started = processes("4")
    haproxy = Haproxy(tmp_path, started)
    with haproxy.running():
        async with asyncio.timeout(20):
            while -1 in (await haproxy.given()).values():  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.02)
        seen = await roll(started, haproxy, amount(1, 5))
    assert wrong(started, seen) == []
