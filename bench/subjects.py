"""Measured processes: the floor, and feedkeep on a database."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx

_START_SECONDS = 60
_STOP_SECONDS = 20
FEEDKEEP = str(Path(sys.executable).with_name("feedkeep"))
"""Command under test."""
_BYTES_PER_MIB = 2**20
_ADDRESS = re.compile(r"(?:Listening: *)?(http://[0-9.:]+)")


class Subject:
    """A server in a separate process; `url` is its address, `told` its output so far."""

    def __init__(self, name: str, command: list[str], **environment: str) -> None:
        self.name = name
        self.url = ""
        self.told = ""
        self._command = command
        self._environment = environment

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> float:
        """Start the server; return the seconds until its first response."""
        begun = time.monotonic()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `stop` closes it
        self._process = subprocess.Popen(
            self._command,
            env={**os.environ, **self._environment},
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told += line
            if found := _ADDRESS.match(line):
                self.url = found[1]
                break
        while time.monotonic() < begun + _START_SECONDS:
            try:
                httpx.get(f"{self.url}/livez")
            except httpx.TransportError:
                time.sleep(0.001)
            else:
                return time.monotonic() - begun
        self._errors.seek(0)
        raise RuntimeError(f"{self.name} does not start: {self._errors.read().decode()}")

    def stop(self) -> None:
        """Stop the server with SIGTERM."""
        self._process.terminate()
        self._process.wait(_STOP_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def memory_mib(self) -> float:
        """Return its memory in MiB, without mapped files."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"RssAnon:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024 / _BYTES_PER_MIB

    def cpu_seconds(self) -> float:
        """Return its processor time, without its children's."""
        return _cpu_seconds(self._process.pid)

    def cpu_seconds_of_threads(self) -> float:
        """Return the processor time of its running threads, to the nanosecond (proc(5))."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def cpu_seconds_of_children(self) -> float:
        """Return the processor time of its running children."""
        return sum(map(_cpu_seconds, self._children()))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context manager: suspend the server and its children, so that they use no processor."""
        pids = [self._process.pid, *self._children()]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def _children(self) -> list[int]:
        listed = Path(f"/proc/{self._process.pid}/task").glob("*/children")
        return [int(pid) for file in listed for pid in file.read_text().split()]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def floor() -> Subject:
    """Return the server of `bench.floor`."""
    return Subject("floor", [sys.executable, "-m", "bench.floor"])


def feedkeep(name: str, database: str, workers: int = 1, **settings: str) -> Subject:
    """Return feedkeep on a database, with fetching disabled."""
    command = [FEEDKEEP, "serve", "--port", "0", "--workers", str(workers)]
    return Subject(name, command, FEEDKEEP_DATABASE=database, FEEDKEEP_FETCH="off", **settings)


def fetching(name: str, database: str, port: int, *, is_paced: bool = True) -> Subject:
    """Return feedkeep on a database, fetching feeds on loopback, at its usual pace or without."""
    program = [FEEDKEEP] if is_paced else [sys.executable, "-m", "bench.unpaced"]
    return Subject(
        name,
        [*program, "serve", "--port", "0"],
        FEEDKEEP_DATABASE=database,
        FEEDKEEP_FETCH="public",
        FEEDKEEP_FETCH_ALLOWED="127.0.0.0/8",
        FEEDKEEP_FETCH_PORTS=str(port),
    )


def web() -> Subject:
    """Return the podcast hosts of `bench.web`."""
    return Subject("web", [sys.executable, "-m", "bench.web"])
