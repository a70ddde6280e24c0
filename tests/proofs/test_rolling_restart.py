"""Processes behind a balancer are restarted one after another, and no client notices.

Clients write and read without a pause, and try nothing a second time; nor does the balancer. What
one process has acknowledged is read from another one.
"""

import asyncio
import csv
import re
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from balancer import Balancer
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from postgres_server import drop_database, free_port, new_database
from raw_client import RawClient

from feedkeep.model import AccountId

PROCESSES = 3
CLIENTS = 16
DRAIN_SECONDS = "1"
RUNBOOK = Path(__file__).parents[2] / "docs" / "postgresql.md"
NO_HAPROXY = "There is no haproxy on this machine."

UntilInUse = Callable[[], Awaitable[None]]


class AtOnePort(FeedkeepProcess):
    """A service that has the same port with each start, as behind a balancer."""

    port = 0

    def start(self):
        self.port = self.port or free_port()
        super().start()

    def _launched(self, *arguments):
        *others, last = arguments
        return super()._launched(*others, str(self.port) if last == "0" else last)  # type: ignore[return-value]


@dataclass
class Seen:
    """What became of requests: what was acknowledged, and what failed."""

    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    requests: int = 0
    connections: int = 0


@pytest.fixture
def processes(tmp_path, postgres):
    """Starts several processes on one database, each as if on a machine of its own."""
    database = new_database(postgres)
    with ExitStack() as stack:

        def start(drain_seconds):
            started = []
            for number in range(PROCESSES):
                folder = tmp_path / str(number)
                folder.mkdir()
                process = AtOnePort(
                    folder, database, drain_seconds=drain_seconds, log_level="warning"
                )
                started.append(stack.enter_context(process))
            return started

        yield start
    drop_database(postgres, database)


async def use(base_url, process, is_over, seen):
    """Write and read until it is over, with as many clients, half of which keep connections."""
    names = [process.new_account() for _ in range(CLIENTS // 2)]
    tokens = [process.new_token(name) for name in names]
    acknowledged = [seen.acknowledged.setdefault(name, set()) for name in names]

    async def one(number):
        token, kept = tokens[number // 2], acknowledged[number // 2]
        asked = 0
        while not is_over.is_set():
            seen.connections += 1
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
            items = {"subscriptions": [{"feed_url": url}]}
            answer = await client.ask("POST", "/subscriptions", items)
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

    await asyncio.gather(*(one(number) for number in range(CLIENTS)))


async def roll(processes, base_url, times, until_in_use):
    """Restart each process while clients use all of them; the others are in use by then."""
    seen, is_over = Seen(), asyncio.Event()
    using = asyncio.create_task(use(base_url, processes[0], is_over, seen))
    for _ in range(times):
        for process in processes:
            await until_in_use()
            await asyncio.to_thread(process.stop)
            await asyncio.to_thread(process.start)
    await until_in_use()
    is_over.set()
    await using
    return seen


async def until_more(given):
    """Wait until each process was given some more connections, and so is ready and in use."""
    before = await given()
    while any(  # noqa: ASYNC110 - haproxy has no event
        count < before.get(name, 0) + 5 for name, count in (await given()).items()
    ):
        await asyncio.sleep(0.02)


def wrong(processes, seen):
    """Return what is wrong after all of it."""
    sentences = list(seen.failed)
    for name, acknowledged in seen.acknowledged.items():
        kept = processes[0].use(lambda service, name=name: _kept(service, name))
        sentences += [f"{url} was lost" for url in acknowledged - kept]
    if seen.requests < 100 * PROCESSES:
        sentences.append(f"only {seen.requests} requests")
    return sentences


async def _kept(service, name):
    account = await service.accounts.named(name)
    return {s.feed_url for s in await service.subscriptions.subscribed(AccountId(account.id))}


async def behind_a_balancer(processes, times):
    """Restart all processes behind the balancer that hides nothing."""
    async with Balancer([process.base_url for process in processes]) as balancer:

        async def until_in_use():
            async with asyncio.timeout(60):
                await balancer.wait_until(PROCESSES)
                await until_more(given)

        async def given():
            return dict(balancer.given)

        return await roll(processes, balancer.base_url, times, until_in_use)


@in_the_long_form
def test_a_rolling_restart_fails_no_request_and_loses_nothing(processes, amount):
    started = processes(DRAIN_SECONDS)
    seen = asyncio.run(behind_a_balancer(started, amount(1, 20)))
    assert wrong(started, seen) == []


@in_the_long_form
def test_the_proof_notices_processes_that_stop_without_turning_clients_away(processes):
    started = processes("0")
    seen = asyncio.run(behind_a_balancer(started, 1))
    assert wrong(started, seen) != []


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
        """Return how many sessions each process was given; none for those that are not ready."""
        try:
            reader, writer = await asyncio.open_unix_connection(self._control)
        except OSError:  # it is just starting
            return dict.fromkeys("123", 0)
        writer.write(b"show stat\n")
        table = (await reader.read()).decode().removeprefix("# ")
        writer.close()
        rows = list(csv.DictReader(table.splitlines()))
        servers = [row for row in rows if row["svname"] not in {"FRONTEND", "BACKEND"}]
        assert len(servers) == PROCESSES
        return {row["svname"]: int(row["stot"]) if row["status"] == "UP" else 0 for row in servers}


async def behind_haproxy(processes, haproxy, times):
    async def until_in_use():
        async with asyncio.timeout(60):
            while 0 in (await haproxy.given()).values():  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.02)
            await until_more(haproxy.given)

    async with asyncio.timeout(20):
        while not await _answers(haproxy.base_url):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.02)
    return await roll(processes, haproxy.base_url, times, until_in_use)


async def _answers(base_url):
    async with httpx.AsyncClient() as client:
        try:
            return (await client.get(f"{base_url}/livez")).status_code == 200
        except httpx.HTTPError:
            return False


@in_the_long_form
def test_behind_haproxy_as_documented_a_rolling_restart_fails_no_request(
    tmp_path, processes, amount
):
    if shutil.which("haproxy") is None:
        pytest.skip(NO_HAPROXY)
    started = processes("4")
    haproxy = Haproxy(tmp_path, started)
    with haproxy.running():
        seen = asyncio.run(behind_haproxy(started, haproxy, amount(1, 5)))
    assert wrong(started, seen) == []
