"""A newer version starts on an older database: what it answers meanwhile, and who may migrate."""

import asyncio
import os
import signal
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from postgres_server import execute, free_port
from running_services import WATCHDOG_USEC, lines, refusal, refused_start, status_of, until

from feedkeep.store.sqlite.connection import open_file

FEED = "https://feed.example/1"
NAME = "alice"
REASON = "The schema of its database is being brought up to date"
HOLD_THE_LOCK = f"SELECT pg_advisory_lock({0x666B6565})"
BEGAN, ENDED = "schema step began", "schema step ended"


@pytest.fixture(params=["sqlite", "postgres"])
def store(request):
    return request.param


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


@contextmanager
def held(process, begin):
    """Call `begin` in a thread, and hold the migration under way in this context."""
    hold = held_by_pipe if is_sqlite(process) else held_by_lock
    beginning = threading.Thread(target=begin, daemon=True)
    with hold(process, beginning):
        yield
    beginning.join()


@contextmanager
def held_by_pipe(process, beginning):
    beginning.start()
    with Path(process.environment["PIPE_OF_THE_TEST"]).open("w"):  # waits for the step to read it
        yield


@contextmanager
def held_by_lock(process, beginning):
    """Hold the lock under which the steps are taken, as another process that takes them does."""
    is_waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(process.database))
        runner.run(connection.execute(HOLD_THE_LOCK))
        beginning.start()
        until(lambda: runner.run(connection.fetchval(is_waiting)))
        yield
        runner.run(connection.close())


def is_sqlite(process):
    return process.database.startswith("sqlite")


def version(process):
    if not is_sqlite(process):
        return execute(process.database, "SELECT version FROM feedkeep.schema_version")
    with closing(open_file(Path(process.database.removeprefix("sqlite:///")))) as file:
        return file.pragma("user_version")


# C7.19
@pytest.mark.parametrize("workers", first_of("1", "2"))
def test_a_migrating_service_is_live_and_refuses_requests(newer, manager, workers):
    newer.environment["FEEDKEEP_WORKERS"] = workers
    with held(manager.of(newer, WATCHDOG_USEC), newer.start):
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


@pytest.mark.parametrize("store", first_of("sqlite", "postgres"))
def test_health_and_doctor_tell_of_a_migration(newer):
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


@pytest.mark.parametrize("store", ["postgres"])
def test_an_older_process_serves_while_a_newer_one_migrates(older, newer):
    with older, held(newer, newer.start):
        [port] = newer.ports()
        assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 503
        assert status_of(older) == 200
    newer.wait_until_ready()
    assert newer.stop() == 0


@pytest.mark.parametrize("store", first_of("sqlite", "postgres"))
def test_a_replaced_worker_of_a_newer_version_leaves_the_clients_to_others(older, tmp_path):
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
            assert status_of(older) == 200
        [reason, *_] = {str(line["reason"]) for line in lines(older, "worker failed to start")}
        assert f"has version {before} of the schema" in reason
        assert version(older) == before


def test_commands_refuse_an_older_database_and_copy_migrates(newer, store, tmp_path):
    before = version(newer)
    commands = {
        "sqlite": ["account list", "account create bob", "check", "database restored"],
        "postgres": ["account list", "database distribute"],
    }[store]
    for command in commands:
        told = refusal(newer, *command.split())
        assert f"has version {before} of the schema" in told
        assert "Stop the service, and run `" in told
        assert " migrate`" in told
    assert version(newer) == before
    newer.run_first("a_version_with_no_way_on")
    newer.must("copy", newer.database, f"sqlite:///{tmp_path / 'copy.db'}")
    assert version(newer) > before


@pytest.mark.parametrize("store", ["sqlite"])
def test_no_migration_runs_beneath_a_service_and_no_command_beneath_a_migration(older, newer):
    before = version(older)
    in_use = "is in use: stop the service"
    with older:
        told = refusal(newer, "migrate")
        assert f"{in_use}, and all commands that use it, first." in told
        assert in_use in refused_start(newer)
        assert version(older) == before
        older.wait_until_ready()
    done: list[int] = []
    with held(newer, lambda: done.append(newer.run("migrate").returncode)):
        told = refusal(older, "account", "list")
        assert "is being restored or migrated; try again" in told
    assert done == [0]
    assert newer.must("export", NAME, "--format", "urls").split() == [FEED]
