"""Helpers shared by the tests of running services: connections, logs, and a service manager."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from feedkeep_process import FEEDKEEP, DidNotStart, FeedkeepProcess

ITEM = {"subscriptions": [{"feed_url": "https://a.example"}]}
INTERVAL_SECONDS = 0.25
WATCHDOG_USEC = str(int(2 * INTERVAL_SECONDS * 1_000_000))
_SOON_SECONDS = 20


def until(condition: Callable[[], object], seconds: float = _SOON_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def refusal(process: FeedkeepProcess, *arguments: str) -> str:
    """Run a command that has to fail; return its one sentence."""
    done = process.run(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), arguments
    return done.stderr.removeprefix("feedkeep: ").strip()


def refused_start(process: FeedkeepProcess) -> str:
    """Start a service, which has to fail; return the last line that it wrote."""
    with pytest.raises(DidNotStart) as told, process:
        pytest.fail(f"It serves: {process.printed}")
    assert process.wait() == 1
    return str(told.value).splitlines()[-1]


@contextmanager
def served(
    process: FeedkeepProcess, *arguments: str, **streams: Any
) -> Iterator[subprocess.Popen[str]]:
    """Run `feedkeep serve` as users do, with streams of a test; it has to stop in order."""
    command = [FEEDKEEP, "serve", *arguments]
    with subprocess.Popen(command, env=process.environment, text=True, **streams) as running:
        try:
            yield running
        finally:
            running.terminate()
            assert running.wait(20) == 0


def status_of(process: FeedkeepProcess, path: str = "/readyz") -> int:
    return httpx.get(process.base_url + path, timeout=20).status_code


def lines(process: FeedkeepProcess, event: str = "") -> list[dict[str, Any]]:
    """Return the lines of a log, or those of one event."""
    told = [json.loads(line) for line in process.log.read_text().splitlines()]
    return [line for line in told if event in {"", line["event"]}]


def connected(process: FeedkeepProcess) -> socket.socket:
    url = httpx.URL(process.base_url)
    return socket.create_connection((url.host, url.port or 80), timeout=30)


def rest(connection: socket.socket) -> bytes:
    """Read until the other end closes the connection."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def begun_post(process: FeedkeepProcess, length: int) -> socket.socket:
    """Return a connection on which the service waits for the body of a request."""
    token = process.new_token(process.new_account())
    connection = connected(process)
    head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    connection.sendall(f"{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n".encode())
    assert connection.recv(65_536).startswith(b"HTTP/1.1 100 ")
    return connection


def state(pid: int) -> str:
    """Return the state of a process; "" if there is none (proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_alive(pid: int) -> bool:
    return state(pid) not in {"", "Z"}


def hold(pid: int) -> None:
    """Stop a process for a while; it does nothing more once this returns."""
    os.kill(pid, signal.SIGSTOP)
    while state(pid) != "T":
        time.sleep(0.001)


class Manager:
    """Stands for systemd: it hears the signs of a service."""

    def __init__(self, address: str) -> None:
        self.heard: list[str] = []
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(30)

    def of(self, process: FeedkeepProcess, watchdog: str = "") -> FeedkeepProcess:
        """Configure a service to send its notifications here."""
        process.environment["NOTIFY_SOCKET"] = self.address.replace("\0", "@")
        if watchdog:
            process.environment["WATCHDOG_USEC"] = watchdog
        return process

    def wait_for(self, sign: str) -> None:
        """Take signs until there is this one."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.heard.append(self.socket.recv(100).decode())
            if self.heard[-1] == sign:
                return
        pytest.fail(f"it never said {sign}, but {self.heard}")

    def forget(self) -> None:
        """Take all signs that are there."""
        while not self.is_silent_for(0):
            pass

    def is_silent_for(self, seconds: float = 2 * INTERVAL_SECONDS) -> bool:
        """Whether no sign comes, by default in the time after which a watchdog would bite."""
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(100)
        except (TimeoutError, BlockingIOError):
            return True
        finally:
            self.socket.settimeout(30)
        return False
