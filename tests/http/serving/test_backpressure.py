"""The bound of all that is under way, with clients and an application that do what a test says."""

import asyncio
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http import backpressure
from feedkeep.http.application import Application
from feedkeep.http.backpressure import CHUNK_BYTES, MADE_OF_A_BYTE, InFlight
from feedkeep.http.error_responses import BodyTooSlow, NoRoom, refusal_of
from feedkeep.http.requests import HOLD, MAKE, UNSENT
from feedkeep.http.routing import Edge, PublicRoute

ROOM, LARGE = 1_000_000, 900_000


class Client:
    """A client and the server between, as the application sees them: it does as it is told."""

    def __init__(self):
        self.body = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.is_held_up = asyncio.Event()
        self.sent = []

    def put(self, size, *, more=False):
        self.body.put_nowait((b"x" * size, more))

    async def receive(self):
        self.is_held_up.set()
        body, more = await self.body.get()
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(self, message):
        self.sent.append(message)
        if message["type"] == "http.response.body":  # the head leaves together with it
            self.is_held_up.set()
            await self.reads.wait()

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def chunks(self):
        return [len(message["body"]) for message in self.sent[1:]]

    @property
    def is_complete(self):
        return len(self.sent) > 1 and not self.sent[-1].get("more_body")


async def app(scope, receive, send):
    """Answer with as many bytes as the path says, once the body is there."""
    event = {"more_body": scope["method"] == "POST"}
    try:
        while event["more_body"]:
            event = await receive()
    except (NoRoom, BodyTooSlow) as error:
        await refusal_of(error, "").response()(scope, receive, send)
    else:
        await Response(b"x" * int(scope["path"][1:]))(scope, receive, send)


class Traffic:
    """Requests under way."""

    def __init__(self, app):
        self.bounded = InFlight(app, ROOM)

    def begin(self, path, body_size=None, *, more=False, unsent=None):
        client = Client()
        if body_size is not None:
            client.put(body_size, more=more)
        method = "GET" if body_size is None else "POST"
        scope = {"type": "http", "method": method, "path": f"/{path}", UNSENT: unsent}
        scope |= {"headers": [], "query_string": b"", "scheme": "http", "server": ("x", 80)}
        return client, asyncio.create_task(self.bounded(scope, client.receive, client.send))

    async def get(self, path):
        client, task = self.begin(path)
        await task
        return client

    async def unread(self, path, unsent=None):
        """Begin a reply that its client does not read."""
        client, task = self.begin(path, unsent=unsent)
        client.reads.clear()
        await client.is_held_up.wait()
        return client, task

    async def owed(self, size):
        """Begin a request whose body lacks its end."""
        before = self.bounded.held_bytes
        client, task = self.begin(1, size, more=True)
        await until(lambda: self.bounded.held_bytes == before + size)
        return client, task


@asynccontextmanager
async def traffic_to(app=app):
    async with asyncio.timeout(20):
        yield Traffic(app)


async def until(condition):
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def later(monkeypatch):
    """Moves the clock forward by a number of seconds."""
    now = [time.monotonic()]
    monkeypatch.setattr(backpressure, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_by(seconds):
        now[0] += seconds

    return pass_by


async def test_replies_and_bodies_count_until_they_are_taken_or_cancelled():
    async with traffic_to() as traffic:
        client, task = await traffic.unread(3 * CHUNK_BYTES + 1)
        assert traffic.bounded.held_bytes == 3 * CHUNK_BYTES + 1
        assert client.chunks == [CHUNK_BYTES]
        client.reads.set()
        await task
        assert client.chunks == [CHUNK_BYTES] * 3 + [1]
        assert client.is_complete
        assert traffic.bounded.held_bytes == 0
        assert (await traffic.get(0)).chunks == [0]

        client, task = await traffic.owed(LARGE)
        assert traffic.bounded.held_bytes == LARGE
        client.put(1)
        await task
        assert client.status == 200
        assert traffic.bounded.held_bytes == 0

        _, task = await traffic.unread(LARGE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert traffic.bounded.held_bytes == 0


async def test_streamed_reply_counts_piece_by_piece():
    async def streams(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(3):
            await send({"type": "http.response.body", "body": b"x" * 1_000, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async with traffic_to(streams) as traffic:
        client, task = await traffic.unread(0)
        assert traffic.bounded.held_bytes == 1_000
        client.reads.set()
        await task
        assert client.chunks == [1_000, 1_000, 1_000, 0]


# C7.12
async def test_new_request_without_room_waits_for_it_and_is_503_if_it_waits_too_long(monkeypatch):
    async with traffic_to() as traffic:
        holder, task = await traffic.unread(ROOM)
        client, waiting = traffic.begin(1)
        await settle()
        assert client.sent == []
        holder.reads.set()
        await asyncio.gather(task, waiting)
        assert client.status == 200

        monkeypatch.setattr(backpressure, "WAIT_SECONDS", 0.01)
        await traffic.unread(ROOM)
        client = await traffic.get(1)
        assert client.status == 503
        assert dict(client.sent[0]["headers"])[b"retry-after"] == b"5"
        assert client.is_complete
        assert traffic.bounded.held_bytes == ROOM


async def reply(request):
    return Response(b"x" * int(request.path[1:]))


EDGE = Edge([PublicRoute("/{size}", get=reply)], None, 405)


@pytest.mark.parametrize("app", [app, Application([EDGE], Settings())])
async def test_large_reply_without_room_is_503_and_one_alone_always_has_room(app):
    async with traffic_to(app) as traffic:
        assert (await traffic.get(3 * ROOM)).chunks[-1] > 0
        slow, task = await traffic.unread(LARGE)
        assert (await traffic.get(LARGE)).status == 503
        assert traffic.bounded.held_bytes == LARGE
        assert (await traffic.get(CHUNK_BYTES)).status == 200
        slow.reads.set()
        await task
        assert slow.status == 200


async def test_reply_is_refused_without_room_for_what_it_is_made_of():
    goes_on = asyncio.Event()

    async def holding(scope, receive, send):
        scope[HOLD](int(scope["path"][1:]))
        await goes_on.wait()
        await Response(b"short")(scope, receive, send)

    async with traffic_to(holding) as traffic:
        first, task = traffic.begin(LARGE)
        await until(lambda: traffic.bounded.held_bytes == LARGE)
        assert (await traffic.get(LARGE)).status == 503
        goes_on.set()
        await task
        assert (first.status, traffic.bounded.held_bytes) == (200, 0)


class Reading:
    """An application that reads a body, of the account in its path, only after a test has let it.

    It says how large the bodies were that it began to read.
    """

    def __init__(self):
        self.begun = []
        self.goes_on = asyncio.Event()

    async def __call__(self, scope, receive, send):
        body = (await receive())["body"]
        await scope[MAKE](scope["path"])
        self.begun.append(len(body))
        await self.goes_on.wait()
        await Response(b"read")(scope, receive, send)


FIFTH, SIXTH, HALF = (ROOM // parts // MADE_OF_A_BYTE for parts in (5, 6, 2))


@pytest.mark.parametrize(
    ("bodies", "at_first", "at_last"),
    [
        # One account has a quarter of the room.
        ([(1, FIFTH), (1, SIXTH), (1, SIXTH), (2, HALF)], [FIFTH, HALF], [SIXTH, SIXTH]),
        ([(1, HALF), (2, HALF), (3, HALF)], [HALF, HALF], [HALF]),
    ],
)
async def test_accounts_share_the_room_for_what_is_made_of_bodies(bodies, at_first, at_last):
    reading = Reading()
    async with traffic_to(reading) as traffic:
        clients = [traffic.begin(account, size) for account, size in bodies]
        await until(lambda: len(reading.begun) == 2)
        await settle()
        assert reading.begun == at_first
        assert traffic.bounded.made_bytes == MADE_OF_A_BYTE * sum(at_first)
        reading.goes_on.set()
        await asyncio.gather(*(task for _, task in clients))
        assert reading.begun == at_first + at_last
        assert {client.status for client, _ in clients} == {200}
        assert traffic.bounded.made_bytes == 0


async def test_body_that_is_too_large_is_read_alone_and_counts_as_made_until_its_reply_begins():
    reading = Reading()
    reading.goes_on.set()
    async with traffic_to(reading) as traffic:
        client, task = traffic.begin(1, ROOM)
        await task
        assert client.status == 200
        client, task = traffic.begin(1, 10)
        client.reads.clear()
        await until(lambda: client.sent)
        assert (traffic.bounded.made_bytes, traffic.bounded.held_bytes) == (0, 14)
        client.reads.set()
        await task


async def test_body_that_waits_too_long_to_be_read_is_503(monkeypatch):
    monkeypatch.setattr(backpressure, "WAIT_SECONDS", 0.01)
    reading = Reading()
    async with traffic_to(reading) as traffic:
        # There is room for both bodies, and not for what is made of them.
        (_, first), (second, refused) = [traffic.begin(1, ROOM // 4) for _ in range(2)]
        await refused
        assert second.status == 503
        reading.goes_on.set()
        await first
        assert reading.begun == [ROOM // 4]
        assert traffic.bounded.made_bytes == 0


async def test_rest_of_a_body_waits_for_room_and_a_small_body_does_not():
    async with traffic_to() as traffic:
        owing, owed = await traffic.owed(LARGE + CHUNK_BYTES)
        holder, holding = await traffic.unread(CHUNK_BYTES)
        assert traffic.bounded.is_full()
        owing.put(1)
        await owed
        assert owing.status == 200
        another, begun = await traffic.owed(LARGE)
        await traffic.owed(ROOM - traffic.bounded.held_bytes)
        another.put(1, more=True)  # it was waited for already
        another.put(1)
        await settle()
        assert another.sent == []
        holder.reads.set()
        await asyncio.gather(holding, begun)
        assert another.status == 200


async def test_owed_bodies_are_cut_first_and_then_unread_replies_and_the_longest_first(later):
    async with traffic_to() as traffic:
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


async def test_bodies_that_only_wait_for_one_another_come_to_an_end():
    async with traffic_to() as traffic:
        begun = [traffic.begin(1, 250_000, more=True) for _ in range(4)]
        await until(traffic.bounded.is_full)
        for client, _ in begun:  # one piece was waited for already
            client.put(10_000, more=True)
            client.put(50_000)
        await settle()
        traffic.bounded.cut_the_slow()
        await asyncio.gather(*(task for _, task in begun))
        assert sorted(client.status for client, _ in begun) == [200, 200, 503, 503]
        assert traffic.bounded.held_bytes == 0


# C1.7, C7.9
async def test_body_that_takes_too_long_is_408_however_much_of_it_comes_now_and_then(later):
    async with traffic_to() as traffic:
        client, task = await traffic.owed(1)
        for _ in range(3):
            later(9)
            client.put(1, more=True)
            await until(client.body.empty)
            traffic.bounded.cut_the_slow()
        assert not task.done()
        later(9)
        traffic.bounded.cut_the_slow()
        await task
        assert client.status == 408
        assert dict(client.sent[0]["headers"])[b"connection"] == b"close"


async def test_client_that_reads_a_piece_or_less_now_and_then_is_cut_once_it_does_not(later):
    unsent_bytes = CHUNK_BYTES
    async with traffic_to() as traffic:
        steady, reading = await traffic.unread(10 * CHUNK_BYTES)
        slow, trickling = await traffic.unread(5 * CHUNK_BYTES, unsent=lambda: unsent_bytes)
        for number in range(2, 7):
            unsent_bytes -= 1
            later(29)
            traffic.bounded.cut_the_slow()
            steady.reads.set()
            steady.reads.clear()
            await until(lambda number=number: len(steady.chunks) == number)
        assert not reading.done()
        assert not trickling.done()
        later(31)
        traffic.bounded.cut_the_slow()
        await asyncio.gather(reading, trickling)
        assert not steady.is_complete  # so that the server cuts the connection
        assert not slow.is_complete
        assert traffic.bounded.held_bytes == 0


async def test_request_that_waits_for_its_client_to_leave_is_not_cut(later):
    left = []

    async def waiting(_, receive, __):
        await receive()
        left.append(await receive())

    async with traffic_to(waiting) as traffic:
        client, task = traffic.begin(1, ROOM)
        await until(traffic.bounded.is_full)
        await until(client.body.empty)
        later(3_600)
        traffic.bounded.cut_the_slow()
        client.put(0)  # stands for the news that the client has left
        await task
        assert len(left) == 1
