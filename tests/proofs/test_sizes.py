"""What a client sends or holds open costs the others nothing: memory, time and places have bounds.

`tests/http/serving/test_bounds.py` has each bound by itself; here they are met in full size and at
once.
"""

import asyncio
import contextlib
import resource
import socket
import time
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, in_the_long_form
from process_memory import memory_bytes

MOST_ADDED_BYTES = 20 * 1024 * 1024
PIECE = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"


@pytest.fixture(autouse=True)
def many_files():
    """Let this process, too, have as many connections open as it may."""
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
        Path(f"/proc/{process.process.pid}/clear_refs").write_text("5")  # the peak begins anew
        before = memory_bytes(process, "VmRSS")
        asyncio.run(send())
        assert client.get("/subscriptions").status_code == 200
    return memory_bytes(process, "VmHWM") - before


def test_a_body_of_a_gibibyte_adds_little_memory(tmp_path, amount):
    """In the short form, one of three times what it may add."""
    paths = ("/subscriptions", "/api/2/episodes/{user}.json", "/index.php/login/v2/poll")
    with FeedkeepProcess(tmp_path) as process:
        added_bytes = [added_by(process, amount(64, 1_024, 1_024), path) for path in paths]
    assert max(added_bytes) < MOST_ADDED_BYTES


@in_the_long_form
def test_the_proof_notices_a_body_that_is_kept(tmp_path):
    with FeedkeepProcess(
        tmp_path, max_body_bytes=str(2**30), max_in_flight_bytes=str(2**30)
    ) as process:
        assert added_by(process, 64) > MOST_ADDED_BYTES


def seconds_for_one_more(process, idle):
    """Open so many connections that send nothing; return how long one more waits for its list.

    Raises httpx.TransportError if it gets none.
    """
    url = httpx.URL(process.base_url)
    token = process.new_token(process.new_account())

    async def go():
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(idle):
                _, writer = await asyncio.open_connection(url.host, url.port)
                stack.push_async_callback(_cut, writer)
            started = time.monotonic()
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx.AsyncClient(base_url=url, headers=headers, timeout=5) as client:
                assert (await client.get("/subscriptions")).status_code == 200
            return time.monotonic() - started

    return asyncio.run(go())


async def _cut(writer):
    writer.transport.abort()
    await asyncio.sleep(0)


def test_many_idle_connections_do_not_stop_one_more(tmp_path, amount):
    with FeedkeepProcess(tmp_path) as process:
        assert seconds_for_one_more(process, amount(600, 10_000, 1_000)) < 2


def with_few_places(folder, *broken):
    process = FeedkeepProcess(folder)
    process.run_first("few_places", *broken)
    return process


def test_more_connections_than_there_are_places_do_not_stop_one_more(tmp_path):
    with with_few_places(tmp_path) as process:
        assert seconds_for_one_more(process, 400) < 2


@in_the_long_form
def test_the_proof_notices_a_service_that_makes_no_room(tmp_path):
    with (
        with_few_places(tmp_path, "no_room_is_made") as process,
        pytest.raises(httpx.TransportError),
    ):
        seconds_for_one_more(process, 400)


if IS_FULL:  # as long as it really takes; tests/http/serving/test_bounds.py is less patient

    @pytest.mark.parametrize(
        "sent",
        [
            b"GET /livez HTTP/1.1\r\nX-Slow: ",
            b"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n"
            b"Content-Length: 1000\r\n\r\n",
        ],
        ids=["slow headers", "a slow body"],
    )
    def test_who_sends_a_byte_now_and_then_is_cut_after_30_seconds(tmp_path, sent):
        with FeedkeepProcess(tmp_path) as process:
            token = process.new_token(process.new_account())
            assert 29 < asyncio.run(_seconds_until_cut(process, sent, token)) < 35


async def _seconds_until_cut(process, sent, token):
    """Return when the service ends its side; after a refusal, it lets the client send on."""
    url = httpx.URL(process.base_url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    started = time.monotonic()
    writer.write(sent.replace(b"{}", token.encode()))

    async def send():
        with contextlib.suppress(ConnectionError):
            while True:
                await asyncio.sleep(0.25)
                writer.write(b"x")
                await writer.drain()

    sending = asyncio.create_task(send())
    with contextlib.suppress(ConnectionError):
        await asyncio.wait_for(reader.read(), 60)
    took_seconds = time.monotonic() - started
    sending.cancel()
    writer.transport.abort()
    return took_seconds


if IS_FULL:

    def test_who_reads_64_kb_a_second_is_not_cut_and_who_reads_nothing_is(tmp_path):
        with FeedkeepProcess(tmp_path) as process:
            name = process.new_account()
            urls = [f"https://{number}.example/{'x' * 8_000}" for number in range(1_500)]
            with process.client(name) as client:
                for first in range(0, len(urls), 500):
                    items = [{"feed_url": url} for url in urls[first : first + 500]]
                    assert client.post("/subscriptions", json={"subscriptions": items}).is_success
            size = len("\n".join(urls))  # more than the kernel takes by itself
            token = process.new_token(name)
            is_whole, is_cut = asyncio.run(_read_slowly(process, name, token, size))
            assert is_whole
            assert is_cut


async def _read_slowly(process, name, token, size):
    """Read two replies, one at 64 kB/s and one not at all; say whether they were whole and cut.

    After 45 seconds both are read as fast as they come.
    """
    url = httpx.URL(process.base_url)
    request = (
        f"GET /subscriptions/{name}.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()
    (slow, writer), (unread, another) = [
        await asyncio.open_connection(url.host, url.port, limit=4_096) for _ in range(2)
    ]
    for one in (writer, another):
        one.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        one.write(request)
    received = rest = 0
    started = time.monotonic()
    with contextlib.suppress(ConnectionResetError):
        while piece := await slow.read(16_000):
            received += len(piece)
            if time.monotonic() - started < 45:
                await asyncio.sleep(len(piece) / 64_000)
    with contextlib.suppress(ConnectionResetError):
        while piece := await unread.read(65_536):
            rest += len(piece)
    writer.transport.abort()
    another.transport.abort()
    return received > size, rest < size
