"""The bound of all that is under way, with clients and an application that do what a test says."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from feedkeep.http import backpressure
from feedkeep.http.backpressure import CHUNK_BYTES, MADE_OF_A_BYTE, InFlight
from feedkeep.http.error_responses import BodyTooSlow, NoRoom, refusal_of
from feedkeep.http.requests import HOLD, MAKE, UNSENT

ROOM = 1_000_000
LARGE = 900_000


class Client:
    """A client and the server between, as the application sees them: it does as it is told."""

    def __init__(self) -> None:
        self.body: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.is_held_up = asyncio.Event()
        self.sent: list[Mapping[str, Any]] = []

    async def receive(self) -> Mapping[str, Any]:
        self.is_held_up.set()
        body, more = await self.body.get()
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(self, message: Mapping[str, Any]) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body":  # the head leaves together with it
            self.is_held_up.set()
            await self.reads.wait()

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def chunks(self) -> list[int]:
        return [len(message["body"]) for message in self.sent[1:]]

    @property
    def is_complete(self) -> bool:
        return len(self.sent) > 1 and not self.sent[-1].get("more_body")


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with as many bytes as the path says, once the body is there."""
    event: Mapping[str, Any] = {"more_body": scope["method"] == "POST"}
    try:
        while event["more_body"]:
            event = await receive()
    except (NoRoom, BodyTooSlow) as error:
        await refusal_of(error, "").response()(scope, receive, send)
    else:
        await Response(b"x" * int(scope["path"]))(scope, receive, send)


class Traffic:
    """Requests under way."""

    def __init__(self, app: ASGIApp = app) -> None:
        self.bounded = InFlight(app, ROOM)

    def begin(
        self, size: int, *, posts: bool = False, unsent: Callable[[], int] | None = None
    ) -> tuple[Client, asyncio.Task[None]]:
        client = Client()
        method = "POST" if posts else "GET"
        scope = {"type": "http", "method": method, "path": str(size), UNSENT: unsent}
        return client, asyncio.create_task(self.bounded(scope, client.receive, client.send))

    async def get(self, size: int) -> Client:
        client, task = self.begin(size)
        await task
        return client

    async def unread(self, size: int) -> tuple[Client, asyncio.Task[None]]:
        """Begin a reply that its client does not read."""
        client, task = self.begin(size)
        client.reads.clear()
        await client.is_held_up.wait()
        return client, task

    async def owed(self, size: int) -> tuple[Client, asyncio.Task[None]]:
        """Begin a request whose body lacks its end."""
        before = self.bounded.held_bytes
        client, task = self.begin(1, posts=True)
        client.body.put_nowait((b"x" * size, True))
        await until(lambda: self.bounded.held_bytes == before + size)
        return client, task


async def until(condition: Callable[[], object]) -> None:
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


def run(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def wrapped(**fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**fixtures), 20))  # type: ignore[arg-type]

    return wrapped


@pytest.fixture
def later(monkeypatch):
    """Let so many seconds pass."""
    now = [time.monotonic()]
    monkeypatch.setattr(backpressure, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_by(seconds):
        now[0] += seconds

    return pass_by


@run
async def test_a_large_reply_leaves_in_chunks_and_is_counted_until_it_is_taken():
    traffic = Traffic()
    client, task = await traffic.unread(3 * CHUNK_BYTES + 1)
    assert traffic.bounded.held_bytes == 3 * CHUNK_BYTES + 1
    assert client.chunks == [CHUNK_BYTES]
    client.reads.set()
    await task
    assert client.chunks == [CHUNK_BYTES] * 3 + [1]
    assert client.is_complete
    assert traffic.bounded.held_bytes == 0
    assert (await traffic.get(0)).chunks == [0]


@run
async def test_when_there_is_no_room_new_requests_wait_until_there_is():
    traffic = Traffic()
    holder, task = await traffic.unread(ROOM)
    client, waiting = traffic.begin(1)
    for _ in range(10):
        await asyncio.sleep(0)
    assert client.sent == []
    holder.reads.set()
    await asyncio.gather(task, waiting)
    assert client.status == 200


# C7.12
@run
async def test_who_waits_for_room_too_long_is_told_to_come_back(monkeypatch):
    monkeypatch.setattr(backpressure, "WAIT_SECONDS", 0.01)
    traffic = Traffic()
    await traffic.unread(ROOM)
    client = await traffic.get(1)
    assert client.status == 503
    assert dict(client.sent[0]["headers"])[b"retry-after"] == b"5"
    assert client.is_complete
    assert traffic.bounded.held_bytes == ROOM


@run
async def test_a_large_reply_without_room_is_not_kept_and_one_alone_always_has_room():
    traffic = Traffic()
    assert (await traffic.get(3 * ROOM)).chunks[-1] > 0
    await traffic.unread(LARGE)
    large = await traffic.get(LARGE)
    assert large.status == 503
    assert traffic.bounded.held_bytes == LARGE
    assert (await traffic.get(CHUNK_BYTES)).status == 200


@run
async def test_a_reply_is_refused_without_room_for_what_it_is_made_of():
    goes_on = asyncio.Event()

    async def app(scope, receive, send):
        scope[HOLD](int(scope["path"]))
        await goes_on.wait()
        await Response(b"short")(scope, receive, send)

    traffic = Traffic(app)
    first, task = traffic.begin(LARGE)
    await until(lambda: traffic.bounded.held_bytes == LARGE)
    assert (await traffic.get(LARGE)).status == 503
    goes_on.set()
    await task
    assert (first.status, traffic.bounded.held_bytes) == (200, 0)


@run
async def test_a_body_is_counted_until_its_request_is_answered():
    traffic = Traffic()
    client, task = await traffic.owed(LARGE)
    assert traffic.bounded.held_bytes == LARGE
    client.body.put_nowait((b"x", False))
    await task
    assert client.status == 200
    assert traffic.bounded.held_bytes == 0


class Reading:
    """An application that reads a body only after a test has let it."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.goes_on = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        await scope[MAKE](scope["path"])
        self.begun.append(len(body))
        await self.goes_on.wait()
        await Response(b"read")(scope, receive, send)


@run
async def test_an_account_has_a_quarter_of_the_room_for_what_is_made_of_bodies():
    reading = Reading()
    traffic = Traffic(reading)
    most, less, other = (ROOM // parts // MADE_OF_A_BYTE for parts in (5, 6, 2))
    clients = [traffic.begin(account, posts=True) for account in (1, 1, 1, 2)]
    for (client, _), size in zip(clients, (most, less, less, other), strict=True):
        client.body.put_nowait((b"x" * size, False))
    await until(lambda: len(reading.begun) == 2)
    for _ in range(10):
        await asyncio.sleep(0)
    assert reading.begun == [most, other]
    assert traffic.bounded.made_bytes == MADE_OF_A_BYTE * (most + other)
    reading.goes_on.set()
    await asyncio.gather(*(task for _, task in clients))
    assert reading.begun == [most, other, less, less]
    assert [client.status for client, _ in clients] == [200] * 4
    assert traffic.bounded.made_bytes == 0


@run
async def test_accounts_share_the_room_for_what_is_made_of_bodies():
    reading = Reading()
    traffic = Traffic(reading)
    size = ROOM // 2 // MADE_OF_A_BYTE
    clients = [traffic.begin(account, posts=True) for account in range(3)]
    for client, _ in clients:
        client.body.put_nowait((b"x" * size, False))
    await until(lambda: len(reading.begun) == 2)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(reading.begun) == 2
    reading.goes_on.set()
    await asyncio.gather(*(task for _, task in clients))
    assert reading.begun == [size] * 3


@run
async def test_a_body_that_is_too_large_to_be_read_beside_others_is_read_alone():
    reading = Reading()
    reading.goes_on.set()
    traffic = Traffic(reading)
    client, task = traffic.begin(1, posts=True)
    client.body.put_nowait((b"x" * ROOM, False))
    await task
    assert client.status == 200


@run
async def test_nothing_counts_as_made_of_a_body_once_its_reply_begins():
    reading = Reading()
    reading.goes_on.set()
    traffic = Traffic(reading)
    client, task = traffic.begin(1, posts=True)
    client.reads.clear()
    client.body.put_nowait((b"x" * 10, False))
    await until(lambda: client.sent)
    assert (traffic.bounded.made_bytes, traffic.bounded.held_bytes) == (0, 14)
    client.reads.set()
    await task


@run
async def test_who_waits_too_long_to_have_a_body_read_is_told_to_come_back(monkeypatch):
    monkeypatch.setattr(backpressure, "WAIT_SECONDS", 0.01)
    reading = Reading()
    traffic = Traffic(reading)
    clients = [traffic.begin(1, posts=True) for _ in range(2)]
    for client, _ in clients:  # there is room for both bodies, and not for what is made of them
        client.body.put_nowait((b"x" * (ROOM // 4), False))
    (_, first), (second, refused) = clients
    await refused
    assert second.status == 503
    reading.goes_on.set()
    await first
    assert reading.begun == [ROOM // 4]
    assert traffic.bounded.made_bytes == 0


@run
async def test_the_rest_of_a_body_waits_for_room_and_a_small_body_does_not():
    traffic = Traffic()
    owing, owed = await traffic.owed(LARGE + CHUNK_BYTES)
    holder, holding = await traffic.unread(CHUNK_BYTES)
    assert traffic.bounded.is_full()
    owing.body.put_nowait((b"x", False))
    await owed
    assert owing.status == 200
    another, begun = await traffic.owed(LARGE)
    await traffic.owed(ROOM - traffic.bounded.held_bytes)
    another.body.put_nowait((b"x", True))  # it was waited for already
    another.body.put_nowait((b"x", False))
    for _ in range(10):
        await asyncio.sleep(0)
    assert another.sent == []
    holder.reads.set()
    await asyncio.gather(holding, begun)
    assert another.status == 200


@run
async def test_owed_bodies_go_first_and_then_unread_replies_and_the_longest_first(later):
    traffic = Traffic()
    reader, reading = await traffic.unread(300_000)
    first, first_owed = await traffic.owed(300_000)
    later(0.5)
    second, second_owed = await traffic.owed(400_000 - CHUNK_BYTES)
    later(2)
    traffic.bounded.cut_the_slow()
    assert not first_owed.cancelling()  # no client needs the room
    _, holding = await traffic.unread(CHUNK_BYTES)
    client, waiting = traffic.begin(1)
    traffic.bounded.cut_the_slow()
    await asyncio.gather(first_owed, waiting)
    assert (first.status, client.status) == (503, 200)
    assert not second_owed.done()
    await traffic.unread(ROOM - traffic.bounded.held_bytes)
    traffic.bounded.cut_the_slow()
    await second_owed
    assert second.status == 503
    assert not reading.done()
    await traffic.unread(ROOM - traffic.bounded.held_bytes)
    traffic.bounded.cut_the_slow()
    await reading
    assert not reader.is_complete
    assert not holding.done()  # it is not slow yet


@run
async def test_bodies_that_only_wait_for_one_another_come_to_an_end():
    traffic = Traffic()
    begun = [traffic.begin(1, posts=True) for _ in range(4)]
    for client, _ in begun:
        client.body.put_nowait((b"x" * 250_000, True))
    await until(traffic.bounded.is_full)
    for client, _ in begun:  # one piece was waited for already
        client.body.put_nowait((b"x" * 10_000, True))
        client.body.put_nowait((b"x" * 50_000, False))
    for _ in range(10):
        await asyncio.sleep(0)
    traffic.bounded.cut_the_slow()
    await asyncio.gather(*(task for _, task in begun))
    assert sorted(client.status for client, _ in begun) == [200, 200, 503, 503]
    assert traffic.bounded.held_bytes == 0


# C1.7, C7.9
@run
async def test_a_body_that_takes_too_long_is_408_however_much_of_it_comes_now_and_then(later):
    traffic = Traffic()
    client, task = await traffic.owed(1)
    for _ in range(3):
        later(9)
        client.body.put_nowait((b"x", True))
        await until(client.body.empty)
        traffic.bounded.cut_the_slow()
    assert not task.done()
    later(9)
    traffic.bounded.cut_the_slow()
    await task
    assert client.status == 408
    assert dict(client.sent[0]["headers"])[b"connection"] == b"close"


@run
async def test_who_reads_a_piece_now_and_then_is_not_cut_and_who_reads_nothing_is(later):
    traffic = Traffic()
    client, task = await traffic.unread(10 * CHUNK_BYTES)
    for number in range(2, 6):
        later(29)
        traffic.bounded.cut_the_slow()
        client.reads.set()
        client.reads.clear()
        await until(lambda number=number: len(client.chunks) == number)
    assert not task.done()
    later(31)
    traffic.bounded.cut_the_slow()
    await task
    assert not client.is_complete  # so that the server cuts the connection
    assert traffic.bounded.held_bytes == 0


@run
async def test_who_reads_less_than_a_piece_at_a_time_is_not_cut_either(later):
    traffic, unsent_bytes = Traffic(), CHUNK_BYTES
    client, task = traffic.begin(10 * CHUNK_BYTES, unsent=lambda: unsent_bytes)
    client.reads.clear()
    await client.is_held_up.wait()
    for _ in range(5):
        unsent_bytes -= 1
        later(29)
        traffic.bounded.cut_the_slow()
    await asyncio.sleep(0)
    assert not task.done()
    later(31)
    traffic.bounded.cut_the_slow()
    await task
    assert not client.is_complete


@run
async def test_a_request_that_the_server_ends_is_ended_and_not_counted_any_more():
    traffic = Traffic()
    _, task = await traffic.unread(LARGE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert traffic.bounded.held_bytes == 0


@run
async def test_a_streamed_reply_counts_piece_by_piece():
    async def streams(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(3):
            await send({"type": "http.response.body", "body": b"x" * 1_000, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    traffic = Traffic(streams)
    client, task = await traffic.unread(0)
    assert traffic.bounded.held_bytes == 1_000
    client.reads.set()
    await task
    assert client.chunks == [1_000, 1_000, 1_000, 0]


@run
async def test_request_that_waits_for_its_client_to_leave_is_not_cut(later):
    left = []

    async def app(_, receive, __):
        await receive()
        left.append(await receive())

    traffic = Traffic(app)
    client, task = traffic.begin(1, posts=True)
    client.body.put_nowait((b"x" * ROOM, False))
    await until(traffic.bounded.is_full)
    await until(client.body.empty)
    later(3_600)
    traffic.bounded.cut_the_slow()
    client.body.put_nowait((b"", False))  # stands for the news that the client has left
    await task
    assert len(left) == 1
