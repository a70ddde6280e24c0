"""Large requests and open connections cost other clients nothing: all resources have limits.

`tests/http/serving/test_bounds.py` has each bound by itself; here they are met in full size and at
once.
"""

import asyncio
import contextlib
import resource
import socket
import time

import httpx
import pytest
from forms import IS_FULL, in_the_long_form
from peaks import Peak

MOST_ADDED_BYTES = 20 * 1024 * 1024
PIECE = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"


@pytest.fixture(autouse=True)
def many_files():
    """Raise this process's limit of open files to the maximum."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def added_by(process, pieces, path="/subscriptions"):
    """Send a body in so many pieces of a MiB; return how much memory the service took for it."""
    name = process.new_account()
    token = process.new_token(name)
    head = (
        f"POST {path.format(user=name)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    url = httpx.URL(process.base_url)

    async def send():
        _, writer = await asyncio.open_connection(url.host, url.port)
        with contextlib.suppress(ConnectionError):
            writer.write(head.encode())
            for _ in range(pieces):
                writer.write(PIECE)
                await writer.drain()
        writer.transport.abort()

    with process.client(process.new_account()) as client:
        client.get("/subscriptions")
        peak = Peak(process.process.pid)
        asyncio.run(send())
        assert client.get("/subscriptions").status_code == 200
    return peak.added_bytes


def test_a_body_of_a_gibibyte_adds_little_memory(start, amount):
    """In the short form, one of three times what it may add."""
    paths = ("/subscriptions", "/api/2/episodes/{user}.json", "/index.php/login/v2/poll")
    process = start()
    added_bytes = [added_by(process, amount(64, 1_024, 1_024), path) for path in paths]
    assert max(added_bytes) < MOST_ADDED_BYTES


@in_the_long_form
def test_the_proof_notices_a_body_that_is_kept(start):
    process = start(max_body_bytes=str(2**30), max_in_flight_bytes=str(2**30))
    assert added_by(process, 64) > MOST_ADDED_BYTES


async def seconds_for_one_more(process, idle):
    """Open so many connections that send nothing; return how long one more waits for its list."""
    url = httpx.URL(process.base_url)
    token = process.new_token(process.new_account())

    writers = [(await asyncio.open_connection(url.host, url.port))[1] for _ in range(idle)]
    try:
        started = time.monotonic()
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=5) as client:
            assert (await client.get("/subscriptions")).status_code == 200
        return time.monotonic() - started
    finally:
        for writer in writers:
            writer.transport.abort()
            await asyncio.sleep(0)


async def test_many_idle_connections_do_not_stop_one_more(start, amount):
    assert await seconds_for_one_more(start(), amount(600, 10_000, 1_000)) < 2


@in_the_long_form  # tests/http/serving/test_bounds.py has the first part in the short one
async def test_more_connections_than_there_are_places_stop_one_more_only_if_none_makes_room(start):
    assert await seconds_for_one_more(start("sqlite", "few_places"), 400) < 2
    broken = start("sqlite", "few_places", "no_room_is_made")
    with pytest.raises(httpx.TransportError):
        await seconds_for_one_more(broken, 400)


if IS_FULL:  # as long as it really takes; tests/http/serving/test_bounds.py is less patient

    def test_who_reads_64_kb_a_second_is_not_cut_and_who_reads_nothing_is(start):
        process = start()
        name = process.new_account()
        urls = [f"https://{number}.example/{'x' * 8_000}" for number in range(1_500)]
        with process.client(name) as client:
            for first in range(0, len(urls), 500):
                items = [{"feed_url": url} for url in urls[first : first + 500]]
                assert client.post("/subscriptions", json={"subscriptions": items}).is_success
        size = len("\n".join(urls))  # more than the kernel takes by itself
        is_whole, is_cut = asyncio.run(_read_slowly(process, name, size))
        assert is_whole
        assert is_cut


async def _read_slowly(process, name, size):
    """Read two replies, one at 64 kB/s and one not at all; say whether they were whole and cut.

    After 45 seconds both are read as fast as they come.
    """
    url = httpx.URL(process.base_url)
    request = (
        f"GET /subscriptions/{name}.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {process.new_token(name)}\r\n\r\n"
    ).encode()
    both = [await asyncio.open_connection(url.host, url.port, limit=4_096) for _ in range(2)]
    for _, writer in both:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        writer.write(request)
    received, started = [0, 0], time.monotonic()
    for number, (reader, writer) in enumerate(both):
        with contextlib.suppress(ConnectionResetError):
            while piece := await reader.read(16_000):
                received[number] += len(piece)
                if time.monotonic() - started < 45:
                    await asyncio.sleep(len(piece) / 64_000)
        writer.transport.abort()
    return received[0] > size, received[1] < size
