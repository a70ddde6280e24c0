"""Unread replies and unfinished requests have one memory limit for a whole process.

Each attack is driven against a service without the bound, too, which has to show.
"""

import asyncio
import contextlib
import select
import socket
from contextlib import asynccontextmanager

import httpx
import pytest
from forms import IS_FULL, in_the_long_form
from peaks import Peak
from test_sizes import many_files

__all__ = ["many_files"]

MIB = 1024 * 1024
BOUND_BYTES = (256 if IS_FULL else 16) * MIB
NO_BOUND = 2**50
LONG = "x" * 8_000
FEEDS = 20_000 if IS_FULL else 1_000
READERS = 12
BODIES = 300 if IS_FULL else 30
STRANGERS = 1_000 if IS_FULL else 200
LARGE_FILE = "/docs"
MOST_FOR_FILES = STRANGERS * 160 * 1024  # if unread: less than a copy of the file for each stranger
MOST_BESIDE = (700 if IS_FULL else 50) * MIB  # to make the longest list, with so many connections


class Crowd:
    """Connections of clients that hold the service up; and the memory that it takes for them."""

    def __init__(self, process):
        self._process = process
        url = httpx.URL(process.base_url)
        self._address = url.host, url.port
        self._readable = select.poll()
        self.peak = Peak(process.process.pid)

    @asynccontextmanager
    async def come(self, count, request):
        """Send `count` requests, each as fast as it is taken, and read nothing."""
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(socket.socket()) for _ in range(count)]
            for connection in connections:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
                connection.setblocking(False)
                self._readable.register(connection, select.POLLIN)
                await loop.sock_connect(connection, self._address)
            sending = [asyncio.create_task(loop.sock_sendall(one, request)) for one in connections]
            yield sending
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)

    async def answered(self, count):
        """Wait until so many of the crowd could read the beginning of a reply."""
        for _ in range(2_000):
            if len(self._readable.poll(0)) >= count:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(self._process.log.read_text())


async def answer_one_more(process, token):
    item = {"subscriptions": [{"feed_url": "https://a.example"}]}
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=process.base_url, headers=headers, timeout=20) as client:
        assert (await client.get("/subscriptions?per_page=1")).status_code == 200
        assert (await client.post("/subscriptions", json=item)).status_code == 200


async def unread_replies(process, crowd):
    """Ask for a whole long list many times and read none of them."""
    name = process.new_account()
    token = process.new_token(name)
    with process.client(name) as client:
        for start in range(0, FEEDS, 400):
            items = [{"feed_url": f"https://{n}.example/{LONG}"} for n in range(start, start + 400)]
            reply = client.post("/subscriptions", json={"subscriptions": items})
            assert reply.status_code == 200
    path = f"/subscriptions/{name}.txt"
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    crowd.peak = Peak(process.process.pid)
    async with crowd.come(READERS, request.encode()):
        await crowd.answered(READERS)
        await answer_one_more(process, token)


async def bodies_without_an_end(process, crowd):
    """Send large bodies but for their last byte."""
    token = process.new_token(process.new_account())
    size = 4 * MIB
    head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    request = f"{head}Content-Length: {size}\r\n\r\n".encode() + b" " * (size - 1)
    async with crowd.come(BODIES, request) as sending:
        some_refused = asyncio.create_task(crowd.answered(1))
        all_sent = asyncio.gather(*sending, return_exceptions=True)
        await asyncio.wait((some_refused, all_sent), return_when=asyncio.FIRST_COMPLETED)
        some_refused.cancel()
        await answer_one_more(process, token)


async def unread_files(process, crowd):
    token = process.new_token(process.new_account())
    request = f"GET {LARGE_FILE} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    async with crowd.come(STRANGERS, request):
        await crowd.answered(STRANGERS)
        await answer_one_more(process, token)


async def bytes_added_by(attack, process):
    crowd = Crowd(process)
    await attack(process, crowd)
    return crowd.peak.added_bytes


@pytest.fixture
def serve(start):
    """Starts a service with a bound, perhaps broken on purpose."""

    def serve(bound_bytes, *broken):
        bound = {"max_in_flight_bytes": str(bound_bytes), "log_level": "debug"}
        return start("sqlite", *broken, **bound)

    return serve


ATTACKS = (unread_replies, bodies_without_an_end)


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_clients_leave_unread_or_unsent_takes_little_memory(serve, attack):
    assert await bytes_added_by(attack, serve(BOUND_BYTES)) < BOUND_BYTES + MOST_BESIDE


async def test_files_that_clients_leave_unread_take_less_than_a_copy_for_each(serve):
    process = serve(BOUND_BYTES)
    async with httpx.AsyncClient(base_url=process.base_url) as client:
        assert len((await client.get(LARGE_FILE)).content) > MOST_FOR_FILES / STRANGERS
    assert await bytes_added_by(unread_files, process) < MOST_FOR_FILES


@in_the_long_form
@pytest.mark.parametrize("attack", ATTACKS)
async def test_the_proof_notices_a_service_without_a_bound(serve, attack):
    assert await bytes_added_by(attack, serve(NO_BOUND)) > BOUND_BYTES + MOST_BESIDE


@in_the_long_form
async def test_the_proof_notices_files_that_are_copied_for_each_client(serve):
    process = serve(NO_BOUND, "files_are_copied")
    assert await bytes_added_by(unread_files, process) > MOST_FOR_FILES
