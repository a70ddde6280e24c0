"""A balancer that hides nothing: it passes connections on, and tries nothing a second time."""

import asyncio
import contextlib
import itertools

import httpx

CHECK_SECONDS = 0.1
"""How often it asks each process whether it is ready."""

ANSWER_SECONDS = 5.0
"""How long a process may take to say so."""

Address = tuple[str, int]


class Balancer:
    """Listens on loopback, and gives each connection to the next process that is ready.

    Attributes:
        base_url: Where it listens.
        given: How many connections each process was given.
    """

    base_url = ""

    def __init__(self, base_urls):
        urls = [httpx.URL(url) for url in base_urls]
        self._addresses = [(url.host, url.port or 80) for url in urls]
        self._ready = set()
        self._changed = asyncio.Event()
        self._turns = itertools.cycle(self._addresses)
        self.given = dict.fromkeys(base_urls, 0)
        self._urls = dict(zip(self._addresses, base_urls, strict=True))

    async def __aenter__(self):
        self._checks = [asyncio.create_task(self._check(one)) for one in self._addresses]
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.base_url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for check in self._checks:
            check.cancel()
        await asyncio.gather(*self._checks, return_exceptions=True)

    async def wait_until(self, count):
        """Wait until so many processes are ready."""
        while len(self._ready) != count:
            self._changed.clear()
            await self._changed.wait()

    async def _check(self, address):
        while True:
            before = len(self._ready)
            if await _is_ready(address):
                self._ready.add(address)
            else:
                self._ready.discard(address)
            if len(self._ready) != before:
                self._changed.set()
            await asyncio.sleep(CHECK_SECONDS)

    async def _pass_on(self, client, reply):
        try:
            address = next(one for one in self._turns if one in self._ready or not self._ready)
            self.given[self._urls[address]] += 1
            source, request = await asyncio.open_connection(*address)
        except OSError:  # no process listens, which the client has to see
            reply.transport.abort()
            return
        await asyncio.gather(carry(client, request), carry(source, reply))


async def _is_ready(address):
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(*address)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return (await reader.read()).startswith(b"HTTP/1.1 200 ")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


async def carry(source, target):
    """Carry all bytes one way, and the end of them."""
    with contextlib.suppress(OSError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    target.close()
