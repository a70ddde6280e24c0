"""Connections to a server, as bytes; and the application of `streaming_app.py` behind ours."""

import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

APP = Path(__file__).with_name("streaming_app.py")


@contextmanager
def connected(server):
    url = httpx.URL(server.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=20) as connection:
        yield connection


@contextmanager
def answered(server, head: bytes, status: int):
    """Send a head whose body is owed; yield the connection once the reply has come."""
    with connected(server) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 %d " % status)
        yield connection


def reply_to(server, sent: bytes) -> bytes:
    """Send bytes, and return all that comes back until the service closes the connection."""
    with connected(server) as connection:
        with suppress(ConnectionError):
            connection.sendall(sent)
        return until_closed(connection)


def until_closed(connection: socket.socket) -> bytes:
    reply = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            reply += piece
    return reply


class Served:
    """The application of `streaming_app.py` in a process of its own."""

    def __init__(self, errors):
        with errors.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, APP], stdout=subprocess.PIPE, stderr=file, text=True
            )
        self.base_url = f"http://127.0.0.1:{self.line()}"

    def line(self) -> str:
        """Wait for the next line that the application prints."""
        return self.process.stdout.readline().strip()

    def reply(self, path: str, method: str = "GET", version: str = "1.1") -> bytes:
        head = f"{method} {path} HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n"
        return reply_to(self, head.encode())
