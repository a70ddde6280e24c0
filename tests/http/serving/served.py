"""The application of `streaming_app.py` in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import IO

from test_bounds import until_closed

APP = Path(__file__).with_name("streaming_app.py")


class Served:
    """The application of `streaming_app.py` in a process of its own."""

    def __init__(self, errors: IO[bytes]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, APP], stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self.port = int(self.line())

    def line(self) -> str:
        """Wait for the next line that the application prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def reply(self, path: str, method: str = "GET", version: str = "1.1") -> bytes:
        with self.connect() as connection:
            head = f"{method} {path} HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            return until_closed(connection)
