"""Running on PostgreSQL: several processes, a database that goes away, and a stop under load."""

import asyncio
import contextlib
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx
import pytest
from feedkeep_process import FeedkeepProcess, write_while
from forms import in_the_long_form
from postgres_server import PostgresServer, execute
from running_services import ITEM, connected, is_alive, lines, refusal, status_of, until


@pytest.fixture(scope="module")
def server():
    with PostgresServer() as server:
        yield server


@pytest.fixture
def serving(tmp_path, server):
    """Two processes of this test's own, on a server that may be stopped."""
    execute(server.url, "DROP SCHEMA IF EXISTS feedkeep CASCADE")
    with FeedkeepProcess(tmp_path, server.url, workers="2") as process:
        process.wait_for_workers(2)
        yield process


def until_more(things, count=50):
    enough = len(things) + count
    until(lambda: len(things) >= enough)


def all_are_ready(process):
    return all(status_of(process) == 200 for _ in range(10))


def test_without_its_database_it_lives_and_says_503_and_then_continues(serving, server):
    with serving.client(serving.new_account()) as client:
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        server.stop(signal.SIGKILL)
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
            assert status_of(serving, "/livez") == 200
        assert time.monotonic() - started < 10
        server.start()
        until(lambda: all_are_ready(serving))
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        assert client.get("/subscriptions").json()["total"] == 1
    assert "Traceback" not in serving.log.read_text()


def test_a_database_that_restarts_under_load_loses_nothing(serving, server):
    """Nor does it leave anything half done."""
    name = serving.new_account()
    acknowledged: list[str] = []
    refused: list[int] = []
    stop = threading.Event()

    def write(client, thread):
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

    with serving.client(name) as client:
        threads = [threading.Thread(target=write, args=(client, number)) for number in range(6)]
        for thread in threads:
            thread.start()
        for number in (signal.SIGINT, signal.SIGKILL):
            until_more(acknowledged)
            server.stop(number)
            until_more(refused)
            server.start()
            until(lambda: status_of(serving) == 200)
        until_more(acknowledged)
        stop.set()
        for thread in threads:
            thread.join()
    assert set(refused) == {503}
    kept = set(serving.must("export", name, "--format", "urls").split())
    assert set(acknowledged) <= kept
    assert set(Counter(url[:-1] for url in kept).values()) == {2}
    serving.must("check")


# In the short form, tests/running/test_running.py stops a service under load.
@in_the_long_form
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_end_under_load_loses_nothing_and_ends_all_processes(tmp_path, server, number):
    execute(server.url, "DROP SCHEMA IF EXISTS feedkeep CASCADE")
    with FeedkeepProcess(tmp_path, server.url, is_from_nothing=True, workers="2") as own:
        own.wait_for_workers(2)
        workers = own.workers()
        until(lambda: all_are_ready(own))
        acknowledged, name, status = write_while(own, number)
        assert status == (0 if number == signal.SIGTERM else -signal.SIGKILL)
        until(lambda: not any(is_alive(pid) for pid in workers), 0 if status == 0 else 5)
        assert set(acknowledged) <= set(own.must("export", name, "--format", "urls").split())


@contextlib.contextmanager
def locked(database, table):
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
    (began,) = lines(process, "store outage began")
    assert "waits for a lock that another session holds" in began["reason"]
    assert "standby" not in began["reason"]


def test_connections_that_come_at_once_are_spread_over_the_workers(serving):
    def files():
        return [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in serving.workers()]

    before = files()
    with ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(connected(serving))
        until(lambda: sum(files()) > sum(before) + 56)
        taken = [now - old for now, old in zip(files(), before, strict=True)]
    assert min(taken) > 8


def test_the_password_of_the_database_is_shown_nowhere(tmp_path, server):
    secret = server.url.replace("feedkeep@", "feedkeep:hunter2@") + "?password=hunter2"
    process = FeedkeepProcess(tmp_path, secret)
    process.start()
    httpx.get(f"{process.base_url}/readyz")
    process.process.send_signal(signal.SIGTERM)
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
    assert refusal(process, "migrate") == (
        f'PostgreSQL needs one more package: {sys.executable} -m pip install "feedkeep[postgres]".'
    )
