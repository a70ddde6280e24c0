"""A client that costs little, so that the service is what is busy in a proof."""

import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]
    is_last: bool = False
    """Whether the service closes the connection after it."""


class RawClient:
    """One connection, for one request at a time; kept alive unless it is asked not to be."""

    has_begun = False  # whether anything came of the newest answer

    def __init__(self, base_url, token, *, is_kept_alive=True):
        url = httpx.URL(base_url)
        self._address = url.host, url.port
        self._headers = f"Host: x\r\nAuthorization: Bearer {token}\r\n"
        if not is_kept_alive:
            self._headers += "Connection: close\r\n"

    def message(self, method, path, body=None):
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._headers}Content-Length: {len(content)}\r\n\r\n"
        return head.encode() + content

    async def cut(self, message, seconds):
        """Send (part of) a request, and cut its connection: with None, once it is answered."""
        reader, writer = await asyncio.open_connection(*self._address)
        writer.write(message)
        if seconds is None:
            await reader.read(1)
        else:
            await asyncio.sleep(seconds)
        writer.transport.abort()

    async def __aenter__(self):
        self._reader, self._writer = await asyncio.open_connection(*self._address)
        return self

    async def __aexit__(self, *_):
        self._writer.close()
        with contextlib.suppress(OSError):  # the other end may have cut it
            await self._writer.wait_closed()

    async def add(self, *urls):
        items = [{"feed_url": url} for url in urls]
        return await self.ask("POST", "/subscriptions", {"subscriptions": items})

    async def entries(self, path):
        while path:
            answer = await self.ask("GET", path)
            assert answer.status == 200, answer
            for entry in answer.body["subscriptions"]:
                yield entry
            following = answer.body.get("next")
            path = following and following[following.index("/subscriptions") :]

    async def ask(self, method, path, body=None):
        """Send a request and return its answer; raises OSError or EOFError if it is cut."""
        self._writer.write(self.message(method, path, body))
        self.has_begun = False
        first = await self._reader.readexactly(1)
        self.has_begun = True
        lines = (first + await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        (length,) = (int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        content = await self._reader.readexactly(length)
        is_last = b"connection: close" in lines
        return Answer(int(lines[0].split()[1]), json.loads(content or b"{}"), is_last)
