"""A balancer that hides nothing: it passes connections on, and tries nothing a second time."""

import asyncio
import contextlib
import itertools

import httpx

CHECK_SECONDS = 0.1  # how often it asks each process whether it is ready
ANSWER_SECONDS = 5.0  # how long a process may take to say so


class Balancer:
    """Listens on loopback, and gives each connection to the next process that is ready."""

    base_url = ""

    def __init__(self, base_urls):
        urls = [httpx.URL(url) for url in base_urls]
        self._given = {(url.host, url.port): 0 for url in urls}
        self._ready = set()
        self._turns = itertools.cycle(self._given)

    async def __aenter__(self):
        self._checks = [asyncio.create_task(self._check(one)) for one in self._given]
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.base_url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for check in self._checks:
            check.cancel()
        await asyncio.gather(*self._checks, return_exceptions=True)

    async def given(self):
        """Return the number of connections that each process received; -1 if it is not ready."""
        return {one: count if one in self._ready else -1 for one, count in self._given.items()}

    async def _check(self, address):
        while True:
            if await _is_ready(address):
                self._ready.add(address)
            else:
                self._ready.discard(address)
            await asyncio.sleep(CHECK_SECONDS)

    async def _pass_on(self, client, reply):
        address = next(one for one in self._turns if one in self._ready or not self._ready)
        self._given[address] += 1
        await pass_on(client, reply, address)


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


async def carry(source, target, breaks=lambda: False):
    """Carry all bytes one way, and the end of them, unless it `breaks` before."""
    with contextlib.suppress(OSError):
        while (data := await source.read(65_536)) and not breaks():
            target.write(data)
            await target.drain()
    target.close()


async def pass_on(client, reply, address, breaks=lambda: False):
    """Carry all bytes of a connection to an address, and back."""
    try:
        source, request = await asyncio.open_connection(*address)
    except OSError:  # there is no listener, which the client has to see
        reply.transport.abort()
        return
    await asyncio.gather(carry(client, request, breaks), carry(source, reply))
