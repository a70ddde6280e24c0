"""Runs feedkeep's commands, each in a process of its own that has imported everything already.

A process that begins from nothing spends most of its time on importing, and many tests would spend
most of theirs on hashing passwords; here that costs nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

from forms import IS_FULL

from feedkeep.security import argon2id

IS_AS_USERS_HAVE_IT = IS_FULL
"""Whether services begin from nothing, and hashes of passwords cost what they do elsewhere."""

_processes = multiprocessing.get_context("forkserver")
_COMES_LATE = [
    *("typer._adapters", "jinja2.ext"),
    *("feedkeep.remote.other_servers", "feedkeep.store.postgres", "feedkeep.metrics.exposition"),
]
_processes.set_forkserver_preload(["feedkeep.cli", *_COMES_LATE])

_WRITTEN = os.O_CREAT | os.O_WRONLY | os.O_APPEND


CHEAP = argon2id.Cost(8, 1, 1)
"""Cost of password hashes in tests: as low as possible."""


def run(
    arguments: Sequence[str], environment: Mapping[str, str], data: bytes
) -> tuple[int, CompletedProcess[str]]:
    """Run a command to its end, with `data` as its standard input; return its number, too."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "0").write_bytes(data)
        process = _processes.Process(target=_run, args=(arguments, dict(environment), folder))
        process.start()
        process.join()
        out, err = ((folder / number).read_text() for number in "12")
        status = process.exitcode
    assert process.pid is not None
    assert status is not None
    return process.pid, CompletedProcess(arguments, status, out, err)


class _ForkedWorker(ForkProcess):
    """A worker of a service, which has imported everything as soon as it is there.

    It has what one that is spawned has: no signal handler of its parent, and only its own sockets.
    """

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        _settings, sockets, *_others = self._args
        own = {one.fileno() for one in (sockets.clients, sockets.metrics) if one}
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in _listening_sockets() - own:
            os.dup2(nothing, number)
        os.close(nothing)
        if "RUN_FIRST" in os.environ:
            _tell_that_it_ran_first()
        super().run()


class _ForkedWorkers:
    """Stands for the way in which a service starts its workers."""

    Process = _ForkedWorker


def _listening_sockets() -> set[int]:
    """Return the descriptors of this process on which connections arrive."""
    found = set()
    for number in [int(file.name) for file in Path("/proc/self/fd").iterdir()]:
        with contextlib.suppress(OSError):  # what was listed itself is closed by now
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                probe = socket.socket(fileno=number)
                if probe.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    found.add(number)
                probe.detach()
    return found


class Running:
    """A command that runs on, with what tests use of `subprocess.Popen`; `log` gets its errors."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        reader, writer = multiprocessing.Pipe(duplex=False)
        self._process = _processes.Process(
            target=_serve, args=(arguments, dict(environment), writer, log)
        )
        self._process.start()
        writer.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.stdout = os.fdopen(os.dup(reader.fileno()), encoding="utf-8")
        reader.close()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise subprocess.TimeoutExpired("feedkeep", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ends just now
            if self.poll() is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    _put_at(0, os.open(folder / "0", os.O_RDONLY))
    for number in (1, 2):
        _put_at(number, os.open(folder / str(number), _WRITTEN))
    _begin(arguments, environment)


def _serve(
    arguments: Sequence[str], environment: Mapping[str, str], out: Connection, log: Path
) -> None:
    _put_at(0, os.open(os.devnull, os.O_RDONLY))
    _put_at(1, os.dup(out.fileno()))
    out.close()  # who reads has to see the end when this process ends its output
    _put_at(2, os.open(log, _WRITTEN))
    _begin(arguments, environment)


def _put_at(number: int, opened: int) -> None:
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)


def _begin(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing took the one that was there away
    os.environ.clear()
    os.environ.update(environment)
    if "RUN_FIRST" in environment:
        _run_first(environment)
    elif not IS_AS_USERS_HAVE_IT:
        importlib.import_module("feedkeep.security.argon2id").OURS = CHEAP
    importlib.import_module("feedkeep.cli.workers")._spawn = _ForkedWorkers
    sys.argv = ["feedkeep", *arguments]
    importlib.import_module("feedkeep.cli").main()


def _run_first(environment: Mapping[str, str]) -> None:
    """Begin as Python does that starts with programs of `tests/proofs/broken` (`at_the_start`).

    What they break is imported after them, so all of feedkeep is imported again; what it is built
    on is there already, which saves most of the time. Hashes of passwords cost what they do
    elsewhere.
    """
    again = {"feedkeep", "sitecustomize"}
    for name in [name for name in sys.modules if name.partition(".")[0] in again]:
        del sys.modules[name]
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    importlib.import_module("sitecustomize")


def _tell_that_it_ran_first() -> None:
    with Path(os.environ["RAN_FIRST"]).open("a") as ran:
        ran.write(f"{os.getpid()}\n")
