"""A web for tests: hosts on addresses of loopback, with names, scripted answers and a memory.

    with WebOfHosts() as web:
        feeds = web.host("feeds.example")
        feeds.answers["/a"] = redirect(feeds.url("/b"))
        feeds.answers["/b"] = reply(b"...", ETag='"1"')
        answer = got(web, feeds.url("/a"))
        assert [one.target for one in feeds.requests] == ["/a", "/b"]

It runs in a thread, so that tests and processes of any kind can ask it. Only a client with its
policy and its names finds it: `web.policy()` allows loopback and its port, `web.look_up` knows
its names.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self, TypeAlias

import pytest

from feedkeep.config.networks import AddressRule, network
from feedkeep.outbound.client import Answer, GuardedClient
from feedkeep.outbound.policy import PORTS, ClientPolicy

BEGINS_TLS = b"\x16"
LOOPBACK = (network("127.0.0.0/8"),)


@dataclass(frozen=True)
class Request:
    """A request that a host received; the names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]


Script: TypeAlias = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]
Answering: TypeAlias = bytes | Script
"""The bytes of an answer, or what writes them; the connection is closed after it."""


def reply(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """Return an answer; an underscore in the name of a header stands for a hyphen."""
    lines = [f"HTTP/1.1 {status} Told", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(location: str, status: int = 301) -> bytes:
    return reply(b"moved", status, Location=location)


async def silent(_: Request, __: asyncio.StreamWriter) -> None:
    """Take a request, and answer nothing."""
    await asyncio.sleep(3_600)  # the web's end ends it


@dataclass
class Host:
    """A host of the web: what it answers, and what it was asked."""

    name: str
    address: str
    port: int
    scheme: str = "http"
    answers: dict[str, Answering] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    def url(self, path: str = "/", user_info: str = "") -> str:
        return f"{self.scheme}://{user_info}{self.name}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        if first == BEGINS_TLS:
            writer.write(reply(status=400))
            return
        request = _parsed(first + await reader.readuntil(b"\r\n\r\n"))
        self.requests.append(request)
        answering = self.answers.get(request.target, reply(status=404))
        if isinstance(answering, bytes):
            writer.write(answering)
            await writer.drain()
        else:
            await answering(request, writer)


class Victim:
    """A host to which others lead: it keeps each connection until there is another one.

    It waits for that one only for a while, since none may come.

    Attributes:
        most_at_once: Maximum number of concurrent connections.
    """

    def __init__(self, host: Host, body: bytes, patience_seconds: float) -> None:
        self.host = host
        self.most_at_once = 0
        self._body = body
        self._patience_seconds = patience_seconds
        self._at_once = 0
        self._are_two = asyncio.Event()

    async def answer(self, _: Request, writer: asyncio.StreamWriter) -> None:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        if self._at_once > 1:
            self._are_two.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience_seconds):
                await self._are_two.wait()
        self._at_once -= 1
        writer.write(self._body)


class WebOfHosts:
    """Hosts that exist until the context ends.

    Attributes:
        names: The addresses of each name; a test may change them at any time.
        looked_up: The names that were looked up.
    """

    def __init__(self) -> None:
        self.names: dict[str, Sequence[str]] = {}
        self.looked_up: list[str] = []
        self._ports: set[int] = set()
        self._addresses = (f"127.0.0.{number}" for number in count(2))
        self._servers: list[asyncio.Server] = []

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def host(self, name: str, address: str = "", tls: ssl.SSLContext | None = None) -> Host:
        """Start a host, on an address of its own unless one is given, and a free port."""
        listener = socket.create_server((address or next(self._addresses), 0))
        found, port = listener.getsockname()[:2]
        host = Host(name, found, port, "https" if tls else "http")
        self._servers.append(self._do(asyncio.start_server(host.serve, sock=listener, ssl=tls)))
        self.names[name] = [found]
        self._ports.add(port)
        return host

    def policy(self, **changes: Any) -> ClientPolicy:
        """Return a policy that lets a client ask these hosts, with changes."""
        usual = {"addresses": AddressRule(allowed=LOOPBACK), "ports": PORTS | self._ports}
        return ClientPolicy(**{**usual, **changes})

    async def look_up(self, host: str) -> Sequence[str]:
        """Return the addresses of a name, as a resolver of this web's own."""
        self.looked_up.append(host)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.names[host]

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        done: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def got(web: WebOfHosts, url: str, policy: ClientPolicy | None = None, **asked: Any) -> Answer:
    """Return the answer to a client's request in that web."""

    async def get() -> Answer:
        async with GuardedClient(policy or web.policy(), web.look_up) as client:
            return await client.get(url, **asked)

    return asyncio.run(get())


def _parsed(head: bytes) -> Request:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    return Request(method, target, {name.lower(): value for name, value in headers.items()})


@pytest.fixture
def web() -> Iterator[WebOfHosts]:
    with WebOfHosts() as web:
        yield web
