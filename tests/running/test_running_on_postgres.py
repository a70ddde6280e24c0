"""Running on PostgreSQL: several processes, a database that goes away, and a stop under load."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx
import pytest
from feedkeep_process import FeedkeepProcess, write_while
from forms import first_of, in_the_long_form
from postgres_server import PostgresServer, execute

ITEM = {"subscriptions": [{"feed_url": "https://a.example"}]}
READY_SECONDS = 5


@pytest.fixture(scope="module")
def server():
    with PostgresServer() as server:
        yield server


@pytest.fixture
def own(tmp_path, server):
    """Two processes of this test's own, on a server that may be stopped, begun as by users."""
    yield from started(FeedkeepProcess(tmp_path, server.url, is_from_nothing=True, workers="2"))


@pytest.fixture
def serving(tmp_path, server):
    """The same, where how they begin and stop is not what is looked at."""
    yield from started(FeedkeepProcess(tmp_path, server.url, workers="2"))


def started(process: FeedkeepProcess) -> Iterator[FeedkeepProcess]:
    execute(process.database, "DROP SCHEMA IF EXISTS feedkeep CASCADE")
    process.start()
    process.wait_for_workers(2)
    yield process
    if process.process.poll() is None:
        process.stop()


def until(condition: Callable[[], object], seconds: float = READY_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def until_more(things: Sequence[object], count: int = 50) -> None:
    enough = len(things) + count
    until(lambda: len(things) >= enough)


def answers(process: FeedkeepProcess, path: str, status: int) -> bool:
    return httpx.get(process.base_url + path, timeout=20).status_code == status


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


@pytest.mark.parametrize("number", first_of(signal.SIGKILL, signal.SIGINT))
def test_while_the_database_is_away_it_lives_and_says_503_and_then_goes_on_by_itself(
    serving, server, number
):
    with serving.client(serving.new_account()) as client:
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        server.stop(number)
        started = time.monotonic()
        for _ in range(10):  # both processes
            for reply in (
                client.post("/subscriptions", json=ITEM),
                client.get("/subscriptions"),
                httpx.get(f"{serving.base_url}/readyz"),
            ):
                assert (reply.status_code, reply.json()["code"]) == (503, "503")
                assert int(reply.headers["Retry-After"]) > 0
                assert "127.0.0.1" not in reply.text
            assert answers(serving, "/livez", 200)
        assert time.monotonic() - started < 10
        server.start()
        until(lambda: all(answers(serving, "/readyz", 200) for _ in range(10)))
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        assert client.get("/subscriptions").json()["total"] == 1
    assert "Traceback" not in serving.log.read_text()


def test_a_database_that_restarts_under_load_loses_nothing_and_leaves_nothing_half_done(
    serving, server
):
    name = serving.new_account()
    token = serving.new_token(name)
    acknowledged: list[str] = []
    refused: list[int] = []
    stop = threading.Event()

    def write(thread):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=serving.base_url, headers=headers, timeout=30) as client:
            for number in range(100_000):
                if stop.is_set():
                    return
                urls = [f"https://{thread}.example/{number}/{half}" for half in "ab"]
                items = {"subscriptions": [{"feed_url": url} for url in urls]}
                reply = client.post("/subscriptions", json=items)
                if reply.status_code == 200:
                    acknowledged.extend(urls)
                else:
                    refused.append(reply.status_code)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for number in (signal.SIGINT, signal.SIGKILL):
        until_more(acknowledged)
        server.stop(number)
        until_more(refused)
        server.start()
        until(lambda: answers(serving, "/readyz", 200))
    until_more(acknowledged)
    stop.set()
    for thread in threads:
        thread.join()
    assert set(refused) == {503}
    kept = set(serving.must("export", name, "--format", "urls").split())
    assert set(acknowledged) <= kept
    assert set(Counter(url[:-1] for url in kept).values()) == {2}
    serving.must("check")


@in_the_long_form
# In the short form, tests/running/test_running.py has the other signal.
@pytest.mark.parametrize("number", first_of(signal.SIGTERM, signal.SIGINT))
def test_a_stop_under_load_loses_nothing_and_ends_all_processes(own, number):
    until(lambda: len(own.workers()) == 2)
    workers = own.workers()
    acknowledged, name, status = write_while(own, number)
    assert status == 0
    assert not any(is_alive(pid) for pid in workers)
    assert set(acknowledged) <= set(own.must("export", name, "--format", "urls").split())


def test_a_worker_that_dies_is_replaced_and_nothing_acknowledged_is_lost(serving):
    until(lambda: len(serving.workers()) == 2)
    first, second = serving.workers()
    with serving.client(serving.new_account()) as client:
        assert client.post("/subscriptions", json=ITEM).status_code == 200
    os.kill(first, signal.SIGKILL)
    until(lambda: len(serving.workers()) == 2 and first not in serving.workers())
    assert second in serving.workers()
    until(lambda: all(answers(serving, "/readyz", 200) for _ in range(10)))
    log = [json.loads(line) for line in serving.log.read_text().splitlines()]
    (line,) = [line for line in log if line["event"].startswith("worker died")]
    assert line["status"] == -signal.SIGKILL


@contextlib.contextmanager
def locked(database: str, table: str) -> Iterator[None]:
    """Lock a table as an administrator's transaction does that stays open."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(database))
        runner.run(connection.execute(f"BEGIN; LOCK TABLE feedkeep.{table}"))
        yield
        runner.run(connection.close())


def test_outage_of_a_locked_table_ends_only_when_its_requests_succeed(tmp_path, server):
    process = FeedkeepProcess(tmp_path, server.url)
    process.run_first("statements_end_soon")
    with process, process.client(process.new_account()) as client:
        with locked(process.database, "entry"):
            for _ in range(2):
                assert client.post("/subscriptions", json=ITEM).status_code == 503
                assert client.get("/readyz").status_code == 200  # it uses another table
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        ended = process.wait_for_line("store outage ended")
    assert ended["failed_requests"] == 2
    log = [json.loads(line) for line in process.log.read_text().splitlines()]
    (began,) = [line for line in log if line["event"] == "store outage began"]
    assert "waits for a lock that another session holds" in began["reason"]
    assert "standby" not in began["reason"]


def test_connections_that_come_at_once_are_spread_over_the_workers(serving):
    serving.wait_for_workers(2)
    url = httpx.URL(serving.base_url)
    before = [files_of(pid) for pid in serving.workers()]
    with ExitStack() as stack:
        for _ in range(64):
            address = url.host, url.port or 80
            stack.enter_context(contextlib.closing(socket.create_connection(address)))
        until(lambda: sum(files_of(pid) for pid in serving.workers()) > sum(before) + 56)
        taken = [files_of(pid) - old for pid, old in zip(serving.workers(), before, strict=True)]
    assert min(taken) > 8


def files_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@in_the_long_form
def test_a_second_service_on_the_same_port_is_told(serving):
    port = str(httpx.URL(serving.base_url).port)
    done = serving.run("serve", "--port", port)
    assert done.returncode == 1
    assert "Address already in use" in done.stderr


@in_the_long_form
def test_the_workers_end_when_the_process_that_watches_them_is_killed(serving):
    until(lambda: len(serving.workers()) == 2)
    workers = serving.workers()
    until(lambda: all(answers(serving, "/readyz", 200) for _ in range(10)))
    acknowledged, name, _ = write_while(serving, signal.SIGKILL)
    until(lambda: not any(is_alive(pid) for pid in workers))
    assert set(acknowledged) <= set(serving.must("export", name, "--format", "urls").split())


def test_the_password_of_the_database_is_shown_nowhere(tmp_path, server):
    secret = server.url.replace("feedkeep@", "feedkeep:hunter2@") + "?password=hunter2"
    process = FeedkeepProcess(tmp_path, secret)
    process.start()
    httpx.get(f"{process.base_url}/readyz")
    process.process.send_signal(signal.SIGTERM)
    assert process.process.stdout is not None
    printed = "".join(process.printed) + process.process.stdout.read()
    process.wait()
    assert "postgresql://feedkeep:***@127.0.0.1" in printed
    assert "hunter2" not in printed + process.log.read_text()
    for command in ("migrate", "check"):
        done = process.run(command)
        assert "hunter2" not in done.stdout + done.stderr


def test_without_its_package_postgres_is_told_how_to_get_it(tmp_path):
    (tmp_path / "asyncpg.py").write_text("raise ModuleNotFoundError('asyncpg', name='asyncpg')")
    process = FeedkeepProcess(tmp_path, "postgresql://127.0.0.1/feedkeep")
    process.environment["PYTHONPATH"] = str(tmp_path)
    done = process.run("migrate")
    assert done.returncode == 1
    assert done.stderr == (
        f"feedkeep: PostgreSQL needs one more package: {sys.executable} -m pip install"
        ' "feedkeep[postgres]".\n'
    )
