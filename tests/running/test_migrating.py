"""A newer version starts on an older database: what it answers meanwhile, and who may migrate."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest
from feedkeep_process import DidNotStart, FeedkeepProcess
from forms import first_of
from postgres_server import drop_database, execute, free_port, new_database
from test_service_manager import WATCHDOG_USEC, Manager, managed
from test_waiting import until

from feedkeep.store.sqlite.connection import open_file

FEED = "https://feed.example/1"
NAME = "alice"
REASON = "The schema of its database is being brought up to date"
HOLD_THE_LOCK = f"SELECT pg_advisory_lock({0x666B6565})"
BEGAN, ENDED = "schema step began", "schema step ended"


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'feedkeep.db'}"
        return
    server = request.getfixturevalue("postgres")
    url = new_database(server)
    yield url
    drop_database(server, url)


@pytest.fixture
def older(tmp_path, database):
    """This version, on a database with a list."""
    (tmp_path / "older").mkdir()
    process = FeedkeepProcess(tmp_path / "older", database)
    process.must("account", "create", NAME, stdin="")
    process.must("import", NAME, "-", stdin=FEED)
    return process


@pytest.fixture
def newer(tmp_path, older):
    """A newer version, on the same database; its migration can be `held`."""
    (tmp_path / "newer").mkdir()
    process = FeedkeepProcess(tmp_path / "newer", older.database)
    process.run_first("a_step_waits")
    process.environment["PIPE_OF_THE_TEST"] = str(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe")
    return process


@pytest.fixture
def manager(tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.socket.close()


@contextmanager
def held(process: FeedkeepProcess, begin: Callable[[], object]) -> Iterator[None]:
    """Call `begin` in a thread, and hold the migration under way in this context."""
    hold = held_by_pipe if is_sqlite(process) else held_by_lock
    beginning = threading.Thread(target=begin, daemon=True)
    with hold(process, beginning):
        yield
    beginning.join()


@contextmanager
def held_by_pipe(process: FeedkeepProcess, beginning: threading.Thread) -> Iterator[None]:
    beginning.start()
    with Path(process.environment["PIPE_OF_THE_TEST"]).open("w"):  # waits for the step to read it
        yield


@contextmanager
def held_by_lock(process: FeedkeepProcess, beginning: threading.Thread) -> Iterator[None]:
    """Hold the lock under which the steps are taken, as another process that takes them does."""
    is_waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(process.database))
        runner.run(connection.execute(HOLD_THE_LOCK))
        beginning.start()
        until(lambda: bool(runner.run(connection.fetchval(is_waiting))))
        yield
        runner.run(connection.close())


def is_sqlite(process: FeedkeepProcess) -> bool:
    return process.database.startswith("sqlite")


def version(process: FeedkeepProcess) -> int:
    if not is_sqlite(process):
        found: int = execute(process.database, "SELECT version FROM feedkeep.schema_version")
        return found
    file = open_file(Path(process.database.removeprefix("sqlite:///")))
    try:
        return int(file.pragma("user_version"))
    finally:
        file.close()


def lines(process: FeedkeepProcess, message: str) -> list[dict[str, object]]:
    logged = [json.loads(line) for line in process.log.read_text().splitlines()]
    return [line for line in logged if line["event"] == message]


# C7.19
@pytest.mark.parametrize("workers", first_of("1", "2"))
def test_service_while_migrating_is_live_and_refuses_requests_with_the_reason(
    newer, manager, tmp_path, workers
):
    newer.environment["FEEDKEEP_WORKERS"] = workers
    managed(newer, str(tmp_path / "notify"), WATCHDOG_USEC)
    with held(newer, newer.start):
        [port] = newer.ports()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get("/livez").status_code == 200
            for method, path in (("GET", "/readyz"), ("GET", "/"), ("POST", "/subscriptions")):
                reply = client.request(method, path)
                assert reply.status_code == 503, path
                assert reply.headers["retry-after"] == "5"
                assert reply.json()["code"] == "503"
                assert REASON in reply.json()["message"]
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        assert "READY=1" not in manager.heard
        if is_sqlite(newer):
            assert lines(newer, BEGAN)[-1]["step"] == "waiting.sql"
    manager.wait_for("READY=1")
    newer.wait_until_ready()
    assert newer.stop() == 0
    steps = ["rebuilt.sql", "added.sql", "filled.sql", "indexed.sql"]
    steps += ["waiting.sql"] if is_sqlite(newer) else []
    assert [line["step"] for line in lines(newer, BEGAN)] == steps
    assert [line["step"] for line in lines(newer, ENDED)] == steps
    assert all(isinstance(line["duration_seconds"], float) for line in lines(newer, ENDED))


def test_health_and_doctor_while_migrating_tell_it(newer):
    port = str(free_port())

    def start():
        newer.process = newer._launched("serve", "--port", port)
        newer._told_address()

    newer.environment["FEEDKEEP_PORT"] = port
    with held(newer, start):
        health, doctor = newer.run("health"), newer.run("doctor")
    assert newer.stop() == 0
    told = f"feedkeep at http://127.0.0.1:{port} is not ready yet: it brings the schema"
    assert (health.returncode, told in health.stderr) == (1, True), health
    assert f"note  address: {told}" in doctor.stdout, doctor
    assert doctor.returncode == 0


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_older_process_serves_while_a_newer_one_beside_it_migrates(older, newer):
    with older, held(newer, newer.start):
        [port] = newer.ports()
        assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 503
        assert httpx.get(f"{older.base_url}/readyz").status_code == 200
    newer.wait_until_ready()
    assert newer.stop() == 0


@pytest.mark.parametrize("database", first_of("sqlite", "postgres"), indirect=True)
def test_replaced_worker_of_a_newer_version_leaves_the_database_and_its_clients_to_the_others(
    older, tmp_path
):
    older.run_first("replaced_workers_are_newer")
    older.environment |= {"REPLACED_IF": str(tmp_path / "new"), "FEEDKEEP_WORKERS": "2"}
    with older:
        older.wait_for_workers(2)
        before = version(older)
        (tmp_path / "new").touch()
        os.kill(older.workers()[0], signal.SIGKILL)
        # Its socket is closed by now.
        until(lambda: len(lines(older, "worker failed to start")) > 1)
        for _ in range(20):
            assert httpx.get(f"{older.base_url}/readyz").status_code == 200
        [reason, *_] = {str(line["reason"]) for line in lines(older, "worker failed to start")}
        assert f"has version {before} of the schema" in reason
        assert version(older) == before


def test_command_refuses_an_older_database_and_says_what_to_do(newer):
    before = version(newer)
    commands = [["list", NAME], ["account", "list"], ["token", "create", NAME], ["check"]]
    commands += [["account", "create", "bob"], ["database", "restored"]]
    commands += [] if is_sqlite(newer) else [["database", "distribute"]]
    for command in commands:
        done = newer.run(*command)
        assert (done.returncode, done.stdout) == (1, ""), command
        assert f"has version {before} of the schema" in done.stderr
        assert "Stop the service, and run `" in done.stderr
        assert " migrate`" in done.stderr
    assert version(newer) == before


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_migration_beneath_a_running_service_is_refused(older, newer):
    before = version(older)
    with older:
        done = newer.run("migrate")
        assert done.returncode == 1
        assert "is in use: stop the service, and all commands that use it, first." in done.stderr
        with pytest.raises(DidNotStart, match="is in use: stop the service"):
            newer.start()
        newer.wait()
        assert version(older) == before
        older.wait_until_ready()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_command_while_the_database_is_migrated_is_refused(older, newer):
    done: list[int] = []
    with held(newer, lambda: done.append(newer.run("migrate").returncode)):
        for process in (older, newer):
            refused = process.run("account", "list")
            assert refused.returncode == 1
            assert "is being restored or migrated; try again" in refused.stderr
    assert done == [0]
    assert newer.must("export", NAME, "--format", "urls").split() == [FEED]


def test_copy_of_an_older_database_migrates_it(newer, tmp_path):
    newer.run_first("a_version_with_no_way_on")
    before = version(newer)
    newer.must("copy", newer.database, f"sqlite:///{tmp_path / 'copy.db'}")
    assert version(newer) > before
