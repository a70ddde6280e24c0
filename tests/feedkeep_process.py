"""A feedkeep service in a process of its own, on a free port of loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Self
from unittest import mock

import commands
import httpx
from beside import Beside

from feedkeep.model import Scope, T
from feedkeep.security import argon2id
from feedkeep.service import Service

FEEDKEEP = str(Path(sys.executable).with_name("feedkeep"))
NEVER_LOGGED = re.compile(
    r"f[kspirn]_[\w-]{40,}|(?:[a-z2-9]{4}-){3}[a-z2-9]{4}\b(?!-)|(?:Basic|Bearer) \S{4,}"
    r"|https?://\S*\.example",
    re.IGNORECASE,
)
"""Tokens, sessions, links, recovery codes, headers with credentials, and the feed URLs of tests."""

SHORTEST_TO_SEARCH = 8
"""Minimum length of the texts to search for; shorter ones may be in a database by chance."""

_START_SECONDS = 20
_AT_THE_START = Path(__file__).parent / "proofs" / "at_the_start"
_numbers = count(1)
_addresses = count()


def from_elsewhere() -> dict[str, str]:
    """Return the headers that a proxy adds for a client with an address of its own."""
    number = next(_addresses)
    return {"X-Forwarded-For": f"198.18.{number // 250}.{number % 250 + 1}"}


class DidNotStart(Exception):
    """The process ended before it served; what it wrote says why."""


class DidNotRunFirst(Exception):
    """A process went on without what it had to run first; its log may say why."""


class FeedkeepProcess:
    """Starts on entering, stops by SIGTERM on leaving; its log is kept in `folder`.

    Without another database, it has a SQLite file in `folder`. Imports are done when it
    begins, and hashes of passwords cost nothing, unless it `is_from_nothing`: as users start it.
    """

    serves = "serve"
    """The command that serves."""

    def __init__(
        self, folder: Path, database: str = "", *, is_from_nothing: bool = False, **settings: str
    ) -> None:
        self.folder = folder
        self.database = database or f"sqlite:///{folder / 'feedkeep.db'}"
        self.log = folder / "log.jsonl"
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("FEEDKEEP_")},
            "FEEDKEEP_DATABASE": self.database,
            **{f"FEEDKEEP_{key.upper()}": value for key, value in settings.items()},
        }
        self.command = [FEEDKEEP]
        self.environment.setdefault("FEEDKEEP_LOG_LEVEL", "debug")
        self.environment.setdefault("FEEDKEEP_FETCH", "off")  # no test asks the internet
        self._beside: Beside | None = None
        self.base_url = ""
        self.printed: list[str] = []
        self.tokens: list[str] = []
        self.passwords: list[str] = []
        self._ran_first = folder / "ran_first"
        self._is_from_nothing = is_from_nothing or commands.IS_AS_USERS_HAVE_IT

    def run_first(self, *programs: str) -> None:
        """Make every process run programs of `tests/proofs/broken` before anything else.

        A process that did not run them to their end raises `DidNotRunFirst`, here in the test.
        """
        self.environment["PYTHONPATH"] = str(_AT_THE_START)
        self.environment["RUN_FIRST"] = " ".join(programs)
        self.environment["RAN_FIRST"] = str(self._ran_first)

    def _assert_ran_first(self, pids: Iterable[int], told: str = "") -> None:
        if "RUN_FIRST" not in self.environment:
            return
        ran = self._ran_first.read_text().split() if self._ran_first.is_file() else []
        if not {str(pid) for pid in pids} <= set(ran):
            log = self.log.read_text() if self.log.is_file() else ""
            raise DidNotRunFirst(f"{self.environment['RUN_FIRST']}: {told}{log}")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.process = self._launched(self.serves, "--port", "0")
        address = self._told_address()
        try:
            self._assert_ran_first([self.process.pid])
        except DidNotRunFirst:
            self.process.kill()
            self.wait()
            raise
        if address is None:
            raise DidNotStart(self.log.read_text())
        self.base_url = address

    def _launched(self, *arguments: str) -> subprocess.Popen[str] | commands.Running:
        if not (self._is_from_nothing or self.command != [FEEDKEEP] or self._has_to_see_the_start):
            return commands.Running(arguments, self.environment, self.log)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*self.command, *arguments],
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @property
    def _has_to_see_the_start(self) -> bool:
        """Whether there is what has to be there when Python starts: what is forked missed it."""
        runs_first = str(_AT_THE_START) if "RUN_FIRST" in self.environment else None
        return self.environment.get("PYTHONPATH") != runs_first

    def _told_address(self) -> str | None:
        """Read what the process prints up to its address; None if it ends without one."""
        assert self.process.stdout is not None
        self.printed = []
        for line in self.process.stdout:
            self.printed.append(line)
            if found := re.search(r"Listening: (https?://(?:\[[0-9a-f:]+\]|[0-9.]+):[0-9]+)", line):
                return found[1]
        return None

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal the process and return its exit status."""
        self.process.send_signal(number)
        return self.wait()

    def ports(self) -> set[int]:
        """Return the ports that the process listens on (proc(5))."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = {f"socket:[{row[9]}]": row[1] for row in rows if row[3] == "0A"}
        files = Path(f"/proc/{self.process.pid}/fd").iterdir()
        targets = [str(file.readlink()) for file in files if file.is_symlink()]
        found = [listening[target] for target in targets if target in listening]
        return {int(address.partition(":")[2], 16) for address in found}

    def workers(self) -> list[int]:
        """Return the processes that serve, if there are several; not what Python starts beside."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = [int(pid) for pid in children.read_text().split()]
        return [pid for pid in found if _is_a_worker(pid)]

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many processes serve; the kernel gives each its part of the connections."""
        deadline = time.monotonic() + _START_SECONDS
        while sum(_accepts(pid) for pid in self.workers()) < count:
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)
        self._assert_ran_first(self.workers())

    def wait_until_ready(self) -> None:
        """Wait until the service says that it is ready; what it says is a second old at most."""
        deadline = time.monotonic() + _START_SECONDS
        while httpx.get(f"{self.base_url}/readyz").status_code != httpx.codes.OK:
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def wait_for_line(self, *texts: str) -> dict[str, object]:
        """Return the first line of the log with some texts in it, once it is there."""
        deadline = time.monotonic() + _START_SECONDS

        def has_all(line: str) -> bool:
            return all(text in line for text in texts)

        while not (found := list(filter(has_all, self.log.read_text().splitlines()))):
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)
        line: dict[str, object] = json.loads(found[0])
        return line

    def kill(self) -> None:
        """End all its processes at once, as the death of the machine's power would."""
        pids = [*self.workers(), self.process.pid]
        for number in (signal.SIGSTOP, signal.SIGKILL):  # at once: none sees another one dead
            for pid in pids:
                os.kill(pid, number)
        self.wait()

    def wait(self) -> int:
        """Wait for the end of a process that was told to stop; return its exit status."""
        status = self.process.wait(_START_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.assert_no_secret_is_kept()
        return status

    def assert_no_secret_is_kept(self) -> None:
        """Look for secrets, and for feed URLs, in all that the service has written so far."""
        if self.log.is_file():
            log = self.log.read_text()
            found = [secret for secret in (*self.tokens, *self.passwords) if secret in log]
            assert found + NEVER_LOGGED.findall(log) == []
        for file in self.folder.glob("feedkeep.db*"):
            content = file.read_bytes()
            secrets = [s for s in (*self.tokens, *self.passwords) if len(s) > SHORTEST_TO_SEARCH]
            assert [secret for secret in secrets if secret.encode() in content] == []

    def run(self, *arguments: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[str]:
        """Run a command on the service's database."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        if not self._has_to_see_the_start:
            pid, ended = commands.run(arguments, self.environment, data)
            self._assert_ran_first([pid], ended.stderr)
            return ended
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [FEEDKEEP, *arguments], env=self.environment, stdin=pipe, stdout=pipe, stderr=pipe
        ) as done:
            out, err = done.communicate(data)
        self._assert_ran_first([done.pid], err.decode())
        return subprocess.CompletedProcess(done.args, done.returncode, out.decode(), err.decode())

    def must(self, *arguments: str, stdin: str | bytes = "") -> str:
        """Run a command that has to work; return what it printed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def use(self, work: Callable[[Service], Awaitable[T]], *, is_costly: bool = False) -> T:
        """Run `work` on the service's database, like a command, but without a process of its own.

        Passwords are hashed at no cost, unless it `is_costly`: then as all are.
        """
        cost = argon2id.OURS if is_costly else commands.CHEAP
        with mock.patch.object(argon2id, "OURS", cost):
            if self._beside is not None:
                return self._beside.use(work)
            with Beside(self.database) as beside:
                return beside.use(work)

    @contextlib.contextmanager
    def used_often(self) -> Iterator[None]:
        """Keep the database open for `use` meanwhile.

        That is for services that many tests share: who looks at the files, or ends processes, has
        to be alone with them.
        """
        with Beside(self.database) as beside:
            self._beside = beside
            try:
                yield
            finally:
                self._beside = None

    def new_account(self, password: str | None = None, *, is_costly: bool = False) -> str:
        """Create an account with a name of its own; return the name.

        Its password is hashed at no cost, unless `is_costly`: then as all are.
        """
        name = f"User{next(_numbers)}"
        self.use(lambda service: service.accounts.create(name, password), is_costly=is_costly)
        self.passwords += [password] if password else []
        return name

    def new_token(
        self, name: str, expires_days: int | None = None, scope: Scope = Scope.WRITE
    ) -> str:
        text = self.use(
            lambda service: service.tokens.create(name, "test", expires_days, scope)
        ).text
        self.tokens.append(text)
        return text

    def client(self, name: str) -> httpx.Client:
        """Return a client that shows a new token of that account."""
        return httpx.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {self.new_token(name)}"},
            timeout=30,
        )


def wait_until_read(connection: socket.socket) -> None:
    """Wait until the other end has taken from the kernel all that was sent on a connection."""
    own, other = _in_proc(*connection.getsockname()), _in_proc(*connection.getpeername())
    deadline = time.monotonic() + _START_SECONDS
    while _unread_bytes(own, other):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _in_proc(host: str, port: int) -> str:
    return f"{int.from_bytes(socket.inet_aton(host), 'little'):08X}:{port:04X}"


def _unread_bytes(sender: str, receiver: str) -> int:
    """Return the number of bytes between two addresses that the receiver has not read (proc(5)).

    Of other receivers, one may never read what an earlier sender at the same address has sent.
    """
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = [receiver, sender]
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[1:3] == ends)


def write_until_it_ends(client: httpx.Client, thread: int, acknowledged: list[str]) -> None:
    for number in range(100_000):
        url = f"https://{thread}.example/{number}"
        try:
            reply = client.post("/subscriptions", json={"subscriptions": [{"feed_url": url}]})
        except httpx.HTTPError:
            return
        if reply.status_code != 200:
            assert reply.status_code == 503
            return
        acknowledged.append(url)


def write_while(process: FeedkeepProcess, number: int) -> tuple[list[str], str, int]:
    """Write with 8 clients, end the process by a signal meanwhile; return what was acknowledged."""
    name = process.new_account()
    acknowledged: list[str] = []
    with process.client(name) as client:
        threads = [
            threading.Thread(target=write_until_it_ends, args=(client, thread, acknowledged))
            for thread in range(8)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while len(acknowledged) < 200 and time.monotonic() < deadline:
            time.sleep(0.02)
        status = process.stop(number)
        for thread in threads:
            thread.join()
    assert len(acknowledged) >= 200
    return acknowledged, name, status


def _is_a_worker(pid: int) -> bool:
    """Whether a process is a worker: spawned, or forked by the fork server."""
    with contextlib.suppress(OSError):  # it ends just now
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"spawn_main" in command or b"multiprocessing.forkserver" in command
    return False


def _accepts(pid: int) -> bool:
    """Whether a process accepts connections, which is its last step when starting (proc(5))."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    process = Path(f"/proc/{pid}")
    descriptors: list[Path] = []
    with contextlib.suppress(OSError):  # it ends just now
        descriptors = list((process / "fd").iterdir())
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            if str(descriptor.readlink()) == "anon_inode:[eventpoll]":
                polled = (process / "fdinfo" / descriptor.name).read_text()
                for number in re.findall(r"^tfd:\s*(\d+)", polled, re.MULTILINE):
                    if str((process / "fd" / number).readlink()) in listening:
                        return True
    return False
