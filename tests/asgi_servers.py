"""feedkeep's application behind ASGI servers that are not its own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from socket import create_server

import httpx
from feedkeep_process import FeedkeepProcess

_APP = "asgi_servers_app:app"
_START_SECONDS = 20


def _on_uvicorn(port: str) -> list[str]:
    return ["-m", "uvicorn", _APP, "--host", "127.0.0.1", "--port", port, "--no-access-log"]


def _on_granian(port: str) -> list[str]:
    bound = ["--host", "127.0.0.1", "--port", port]
    return ["-m", "granian", "--interface", "asgi", "--no-ws", *bound, _APP]


SERVERS = {"stock uvicorn": _on_uvicorn, "granian": _on_granian}
"""Command-line arguments of each server, by its name; the functions are given the port."""


class ServedByAnother(FeedkeepProcess):
    """The application on SQLite, behind one of `SERVERS`."""

    def __init__(self, server: str, folder: Path) -> None:
        super().__init__(folder, trusted_proxies="127.0.0.1")
        self.environment["PYTHONPATH"] = str(Path(__file__).parent)
        self._server = server

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        with create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *SERVERS[self._server](str(port))],
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.base_url}/readyz").status_code == httpx.codes.OK
        except httpx.ConnectError:
            return False
