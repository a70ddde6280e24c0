"""The bounds of bodies and replies under way, on whatever server: it is ASGI alone.

How many bytes they are together, and how long a client may take to send or to read them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedkeep.http.problems import NO_ROOM, BodyTooSlow, NoRoom
from feedkeep.http.requests import HOLD
from feedkeep.http.serving.refusals import response_of

CHUNK_BYTES = 64 * 1024
"""How much of a reply is handed to the server at once."""

PATIENCE_SECONDS = 30.0
"""How long a client may take to send its body, and to take a chunk of a reply."""

SLOW_SECONDS = 1.0
"""After how long whoever is slow has to go when others wait for room."""

WAIT_SECONDS = 5.0
"""How long a request waits for room before it is refused."""

_log = structlog.get_logger()

# In this version of ASGI, `send` may raise when the client has left. With an older one Starlette
# listens for that beside a response, which would be a second task in here.
_ASGI = {"version": "3.0", "spec_version": "2.4"}

T = TypeVar("T")


class ClientTooSlow(ConnectionError):
    """A client does not take its reply."""


# What a request waits for, in the order in which requests have to go when room is short. An enum
# costs a microsecond for each request.
NOTHING, BODY, READER, ROOM = range(4)


class InFlight:
    """Wraps an application, and bounds what its requests hold.

    A body counts from when it comes until its request is answered, a reply until the client took
    all of it. When they are too many bytes together, new requests and the rest of large bodies wait
    for room, and are told to come back if there is none for long. A large reply is not kept to
    wait: there is 503 in its place.

    Attributes:
        held_bytes: What all requests hold.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._freed = asyncio.Event()
        self._requests: set[_Request] = set()
        self.held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = _Request(self, receive, send)
        self._requests.add(request)
        try:
            if self.is_full():
                await self.room()
            scope = {**scope, "asgi": _ASGI, HOLD: request.hold_for_reply}
            await self._app(scope, request.receive, request.send)
        except NoRoom:
            _log.warning("no room for a request", in_flight_bytes=self.held_bytes)
            await response_of(NO_ROOM)(scope, receive, send)
        except ClientTooSlow:
            pass  # the reply has no end, so that the server cuts the connection
        finally:
            self._requests.discard(request)
            request.hold(0)

    def cut_the_slow(self) -> None:
        """Cut whom we waited for too long, and who is slow while others wait for room.

        To be called each second.
        """
        now = time.monotonic()
        for request in [one for one in self._requests if one.is_too_slow(now)]:
            request.cut(is_for_room=False)
        if self.is_full():
            slow = [one for one in self._requests if one.is_slow(now)]
            for request in sorted(slow, key=_Request.rank):
                if self.held_bytes <= self._max_bytes * 3 // 4:
                    break
                request.cut(is_for_room=True)

    def is_full(self) -> bool:
        """Say whether whoever comes has to wait."""
        return self.held_bytes >= self._max_bytes

    def has_room_for(self, count: int) -> bool:
        """Say whether so many bytes are within the bound, or nobody else has any."""
        return self.held_bytes + count <= self._max_bytes or self.held_bytes == 0

    async def room(self) -> None:
        """Wait for room.

        Raises:
            NoRoom: There is none for too long.
        """
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while self.is_full():
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            raise NoRoom from None

    def count(self, more_bytes: int) -> None:
        """Count what a request holds more than before, or less."""
        self.held_bytes += more_bytes
        if more_bytes < 0 and not self.is_full():
            self._freed.set()


class _Request:
    """A request under way."""

    _start: Message | None = None
    _body_bytes = 0
    _held_bytes = 0
    _waits_for = _waited_for = NOTHING
    _began_at = 0.0
    _since = 0.0
    _task: asyncio.Task[Any] | None = None
    _error: Exception | None = None

    def __init__(self, in_flight: InFlight, receive: Receive, send: Send) -> None:
        self._in_flight = in_flight
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        """Take a chunk of the body."""
        if self._body_bytes and self._in_flight.is_full():
            await self._wait(ROOM, self._in_flight.room())
        event = await self._wait(BODY, self._receive())
        self._body_bytes += len(event.get("body", b""))
        self.hold(self._body_bytes)
        return event

    async def send(self, message: Message) -> None:
        """Send the start of a reply, which leaves with its body, or a chunk of it, of any size."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        body = message.get("body", b"")
        if self._start is not None:
            if len(body) > CHUNK_BYTES and not self._in_flight.has_room_for(len(body)):
                raise NoRoom
            start, self._start = self._start, None
            await self._send(start)
        self.hold(self._body_bytes + len(body))
        if len(body) <= CHUNK_BYTES:
            await self._wait(READER, self._send(message))
        else:
            await self._send_in_chunks(body, message)
        self.hold(self._body_bytes)

    def hold_for_reply(self, count: int) -> None:
        """Hold what a reply is made of, until that is sent.

        Raises:
            NoRoom: There is no room for it.
        """
        if not self._in_flight.has_room_for(count):
            raise NoRoom
        self.hold(self._body_bytes + count)

    def hold(self, count: int) -> None:
        """Hold so many bytes from now on."""
        if count != self._held_bytes:
            self._in_flight.count(count - self._held_bytes)
            self._held_bytes = count

    def is_too_slow(self, now: float) -> bool:
        """Say whether our patience is at its end: with a whole body, or with a chunk of a reply."""
        since = self._began_at if self._waits_for == BODY else self._since
        is_of_client = self._waits_for in {BODY, READER}
        return is_of_client and now - since > PATIENCE_SECONDS

    def is_slow(self, now: float) -> bool:
        """Say whether this one may have to go when others wait for room."""
        if self._waits_for == ROOM:
            return True
        return self._waits_for != NOTHING and now - self._began_at > SLOW_SECONDS

    def rank(self) -> tuple[int, float]:
        """Return what to sort by, so that those come first who have to go first.

        Of clients, those whom we waited for the longest; of bodies that wait for room themselves,
        the newest, so that the others can come to their end.
        """
        is_ours = self._waits_for == ROOM
        return self._waits_for, -self._began_at if is_ours else self._began_at

    def cut(self, *, is_for_room: bool) -> None:
        """Let go of what this one holds, and end its wait with an error."""
        if self._waits_for == READER:
            self._error = ClientTooSlow()
        else:
            self._error = NoRoom() if is_for_room else BodyTooSlow()
        self._waits_for = NOTHING
        self.hold(0)
        assert self._task is not None
        self._task.cancel()

    async def _send_in_chunks(self, body: bytes, message: Message) -> None:
        last = (len(body) - 1) // CHUNK_BYTES * CHUNK_BYTES
        for first in range(0, last, CHUNK_BYTES):
            chunk = {**message, "body": body[first : first + CHUNK_BYTES], "more_body": True}
            await self._wait(READER, self._send(chunk))
        await self._wait(READER, self._send({**message, "body": body[last:]}))

    async def _wait(self, what: int, awaited: Awaitable[T]) -> T:
        """Wait, and be looked at each second meanwhile."""
        self._task = asyncio.current_task()
        self._since = time.monotonic()
        if what != self._waited_for:
            self._waited_for, self._began_at = what, self._since
        self._waits_for = what
        try:
            return await awaited
        except asyncio.CancelledError:
            error, self._error = self._error, None
            if error is None or self._task is None:
                raise
            self._task.uncancel()
            raise error from None
        finally:
            self._waits_for = NOTHING
