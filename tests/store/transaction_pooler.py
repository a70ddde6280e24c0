"""A pooler in transaction mode: every transaction gets another session of the server.

It is harsher than pgbouncer, which gives another session when it has to: this one always does.
"""

import asyncio
import struct
from collections import deque
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

SESSIONS = 3


class Pooler:
    """Speaks PostgreSQL's protocol to clients, and hands their transactions to the sessions."""

    def __init__(self, server_url):
        self._url = urlsplit(server_url)
        self._idle = deque()
        self._freed = asyncio.Semaphore(0)
        self._greeting = b""
        self._clients = set()
        self.transactions = 0

    @asynccontextmanager
    async def running(self):
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
            for client in self._clients:
                client.cancel()
            await asyncio.gather(*self._clients)
            for _, writer in self._idle:
                writer.close()

    async def _log_in(self):
        reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        names = {"user": self._url.username, "database": self._url.path[1:]}
        body = b"".join(f"{key}\0{value}\0".encode() for key, value in names.items()) + b"\0"
        writer.write(struct.pack("!ii", len(body) + 8, 196608) + body)
        greeting = b""
        while True:
            kind, message = await _message(reader)
            if kind == b"K":  # its clients cancel statements at the pooler
                message = b"K" + struct.pack("!iii", 12, 0, 0)
            greeting += message
            if kind == b"Z":
                self._greeting = greeting
                return reader, writer

    async def _serve(self, client, out):
        serving = asyncio.current_task()
        self._clients.add(serving)
        try:
            await self._greet(client, out)
            while True:
                kind, message = await _message(client)
                if kind == b"X":
                    return
                await self._transaction(message, client, out)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._clients.discard(serving)
            out.close()

    async def _greet(self, client, out):
        while True:
            (length,) = struct.unpack("!i", await client.readexactly(4))
            (code,) = struct.unpack("!i", (await client.readexactly(length - 4))[:4])
            if code == 196608:
                break
            out.write(b"N")  # no encryption
        out.write(self._greeting)

    async def _transaction(self, message, client, out):
        """Give the client a session until PostgreSQL says that no transaction is open."""
        await self._freed.acquire()
        session = self._idle.popleft()
        self.transactions += 1
        ready = asyncio.Queue()
        relaying = asyncio.create_task(_relay(session[0], out, ready))
        try:
            while True:
                session[1].write(message)
                if message[:1] in {b"Q", b"S"} and await ready.get() == b"I":
                    return
                _, message = await _message(client)
        except (asyncio.IncompleteReadError, ConnectionError):
            session[1].close()  # the client left in the middle of a transaction
            session = await self._log_in()
            raise
        finally:
            relaying.cancel()
            self._idle.append(session)
            self._freed.release()


async def _relay(session, out, ready):
    """Pass on what PostgreSQL says, and note whenever it is ready for more, and in which state."""
    state = b""
    while state != b"I":
        kind, message = await _message(session)
        out.write(message)
        if kind == b"Z":
            state = message[5:6]
            ready.put_nowait(state)


async def _message(reader):
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!i", head[1:])
    return head[:1], head + await reader.readexactly(length - 4)
