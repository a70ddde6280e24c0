"""A pooler in transaction mode: every transaction gets another session of the server.

It is harsher than pgbouncer, which gives another session when it has to: this one always does.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

SESSIONS = 3

Session = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pooler:
    """Speaks PostgreSQL's protocol to clients, and hands their transactions to the sessions."""

    def __init__(self, server_url: str) -> None:
        self._url = urlsplit(server_url)
        self._idle: deque[Session] = deque()
        self._freed = asyncio.Semaphore(0)
        self._greeting = b""
        self.transactions = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Listen on a free port; give the URL by which the database is reached through it."""
        for _ in range(SESSIONS):
            self._idle.append(await self._log_in())
            self._freed.release()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        location = f"{self._url.username}@127.0.0.1:{port}"
        try:
            yield urlunsplit(self._url._replace(netloc=location))
        finally:
            server.close()
            for _, writer in self._idle:
                writer.close()

    async def _log_in(self) -> Session:
        assert self._url.hostname
        assert self._url.port
        reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        names = {"user": self._url.username, "database": self._url.path[1:]}
        body = b"".join(f"{key}\0{value}\0".encode() for key, value in names.items()) + b"\0"
        writer.write(struct.pack("!ii", len(body) + 8, 196608) + body)
        self._greeting = b""
        while True:
            kind, message = await _message(reader)
            self._greeting += message
            if kind == b"Z":
                return reader, writer

    async def _serve(self, client: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        try:
            await self._greet(client, out)
            while True:
                kind, message = await _message(client)
                if kind == b"X":
                    return
                await self._transaction(message, client, out)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            out.close()

    async def _greet(self, client: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        while True:
            (length,) = struct.unpack("!i", await client.readexactly(4))
            (code,) = struct.unpack("!i", (await client.readexactly(length - 4))[:4])
            if code == 196608:
                break
            out.write(b"N")  # no encryption
        out.write(self._greeting)

    async def _transaction(
        self, first: bytes, client: asyncio.StreamReader, out: asyncio.StreamWriter
    ) -> None:
        """Give the client a session until PostgreSQL says that no transaction is open."""
        await self._freed.acquire()
        session, writer = self._idle.popleft()
        self.transactions += 1
        writer.write(first)

        async def forward() -> None:
            while True:
                writer.write((await _message(client))[1])

        async def give_back() -> None:
            while True:
                kind, message = await _message(session)
                out.write(message)
                if kind == b"Z" and message[5:6] == b"I":
                    return

        both = [asyncio.create_task(forward()), asyncio.create_task(give_back())]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        gone, _ = await asyncio.gather(*both, return_exceptions=True)
        if isinstance(gone, asyncio.CancelledError):
            self._idle.append((session, writer))
        else:  # the client left in the middle of a transaction
            writer.close()
            self._idle.append(await self._log_in())
        self._freed.release()


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!i", head[1:])
    return head[:1], head + await reader.readexactly(length - 4)
