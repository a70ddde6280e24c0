"""The limits of request bodies and replies under way; it is plain ASGI, and works on any server.

How many bytes all of them hold together, and how long a client may take to send or to read them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedkeep.http.error_responses import NO_ROOM, BodyTooSlow, NoRoom
from feedkeep.http.requests import DISCARD, HOLD, MAKE, UNSENT

CHUNK_BYTES = 64 * 1024
"""How much of a reply is given to the server at a time."""

PATIENCE_SECONDS = 30.0
"""How long a client may take to send its body, and to read something of a reply (C1.7)."""

SLOW_SECONDS = 1.0
"""After how long a slow client may be cut if others wait for room."""

WAIT_SECONDS = 5.0
"""How long a request waits for room before it is refused."""

MADE_OF_A_BYTE = 17
"""How much memory a byte of a body takes while it is read: 6 bytes for a list of 4 MiB, and 17 for
a body of 1.6 MB with 400,000 texts of one letter."""

_log = structlog.get_logger()

# In this version of ASGI, `send` may raise an error when the client has left. With an older one,
# Starlette waits for that in a second task beside each response.
_ASGI = {"version": "3.0", "spec_version": "2.4"}

T = TypeVar("T")


class ClientTooSlow(ConnectionError):
    """A client does not take its reply."""


# What a request waits for, in the order in which requests are cut when room is short. These are
# numbers, since an enum costs a microsecond for each request.
NOTHING, BODY, READER, ROOM = range(4)


class InFlight:
    """Wraps an application, and limits the memory that its requests hold.

    A body counts from its arrival until its request is answered, a reply until the client has
    received all of it. If they are too many bytes together, new requests and the rest of large
    bodies wait for room; if there is none for too long, the client gets 503. A large reply does not
    wait: without room for it, the client gets 503 instead.

    What is made of bodies while they are read has as much room again, of which a request keeps its
    part until its reply begins. One account has a quarter of it, or one body of any size, so that
    who sends many keeps no other account waiting.

    Attributes:
        held_bytes: How many bytes all requests hold together.
        made_bytes: How many bytes are counted for what is made of bodies.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._freed = asyncio.Event()
        self._requests: set[_Request] = set()
        self._unmade = asyncio.Event()
        self._made_for: Counter[Hashable] = Counter()
        self.held_bytes = self.made_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = _Request(self, receive, send, scope.get(UNSENT))
        self._requests.add(request)
        try:
            if self.is_full():
                await self.room()
            scope = {
                **scope,
                "asgi": _ASGI,
                HOLD: request.hold_for_reply,
                DISCARD: request.discard,
                MAKE: request.make,
            }
            await self._app(scope, request.receive, request.send)
        except NoRoom:  # not even to look for its route
            _log.warning("no room for a request", in_flight_bytes=self.held_bytes)
            await NO_ROOM.last_response()(scope, receive, send)
        except ClientTooSlow:
            pass  # the reply has no end, so that the server cuts the connection
        finally:
            self._requests.discard(request)
            request.hold(0)
            request.unmake()

    def cut_the_slow(self) -> None:
        """Cut clients that took too long, and those that are slow while others wait for room.

        To be called once a second.
        """
        now = time.monotonic()
        for request in self._requests:
            request.note_progress(now)
        for request in [one for one in self._requests if one.is_too_slow(now)]:
            request.cut(is_for_room=False)
        if self.is_full():
            slow = [one for one in self._requests if one.is_slow(now)]
            for request in sorted(slow, key=_Request.rank):
                if self.held_bytes <= self._max_bytes * 3 // 4:
                    break
                request.cut(is_for_room=True)

    def is_full(self) -> bool:
        """Say whether new requests have to wait."""
        return self.held_bytes >= self._max_bytes

    def has_room_for(self, count: int) -> bool:
        """Say whether so many more bytes are within the limit, or no request holds any."""
        # A reply larger than the limit could otherwise never be sent, not even to the only client.
        return self.held_bytes + count <= self._max_bytes or self.held_bytes == 0

    async def room(self) -> None:
        """Wait until requests hold less than the limit.

        Raises:
            NoRoom: There was no room for `WAIT_SECONDS`.
        """
        await _wait_while(self.is_full, self._freed)

    async def room_to_make(self, count: int, account: Hashable) -> None:
        """Wait until so many bytes may be made of a body of an account, and count them.

        Raises:
            NoRoom: There was no room for `WAIT_SECONDS`.
        """

        def is_without_room() -> bool:
            own_bytes = self._made_for[account]
            return (own_bytes > 0 and own_bytes + count > self._max_bytes // 4) or (
                self.made_bytes > 0 and self.made_bytes + count > self._max_bytes
            )

        await _wait_while(is_without_room, self._unmade)
        self.made_bytes += count
        self._made_for[account] += count

    def unmake(self, count: int, account: Hashable) -> None:
        """Count that so many bytes that were made of a body are not held any more."""
        self.made_bytes -= count
        self._made_for[account] -= count
        if not self._made_for[account]:
            del self._made_for[account]
        self._unmade.set()

    def tell_of_room(self) -> None:
        """Let requests go on that wait for room, if there is any now."""
        if not self.is_full():
            self._freed.set()


async def _wait_while(is_without_room: Callable[[], object], freed: asyncio.Event) -> None:
    """Wait until there is room.

    Raises:
        NoRoom: There was none for `WAIT_SECONDS`.
    """
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while is_without_room():
                freed.clear()
                await freed.wait()
    except TimeoutError:
        raise NoRoom from None


class _Request:
    """A request under way."""

    # A fallback in the class would be found more slowly, for each request several times.
    __slots__ = (
        "_began_at",
        "_body_bytes",
        "_error",
        "_held_bytes",
        "_in_flight",
        "_made_bytes",
        "_made_for",
        "_receive",
        "_send",
        "_since",
        "_start",
        "_task",
        "_unsent",
        "_unsent_bytes",
        "_waited_for",
        "_waits_for",
    )

    def __init__(
        self,
        in_flight: InFlight,
        receive: Receive,
        send: Send,
        unsent: Callable[[], int] | None,
    ) -> None:
        self._in_flight = in_flight
        self._receive = receive
        self._send = send
        self._unsent, self._unsent_bytes = unsent, 0
        self._task = asyncio.current_task()
        self._start: Message | None = None
        self._body_bytes = self._held_bytes = self._made_bytes = 0
        self._made_for: Hashable = None
        self._waits_for = self._waited_for = NOTHING
        self._began_at = self._since = 0.0
        self._error: Exception | None = None

    async def receive(self) -> Message:
        """Receive a chunk of the body; all but the first one wait for room."""
        if self._body_bytes and self._in_flight.is_full():
            await self._wait(ROOM, self._in_flight.room())
        event = await self._wait(BODY, self._receive())
        self._body_bytes += len(event.get("body", b""))
        self.hold(self._body_bytes)
        return event

    async def send(self, message: Message) -> None:
        """Send the start of a reply, or a chunk of its body, of any size."""
        if message["type"] == "http.response.start":
            # It waits for the body: a reply without room for it can still become a 503.
            self._start = message
            self.unmake()
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
        """Count what a reply will be made of, until the reply is sent.

        Raises:
            NoRoom: There is no room for it.
        """
        if not self._in_flight.has_room_for(count):
            raise NoRoom
        self.hold(self._body_bytes + count)

    async def make(self, account: Hashable) -> None:
        """Wait for room to read the whole body, once; keep it until the reply begins.

        Raises:
            NoRoom: There was none for `WAIT_SECONDS`.
        """
        count = MADE_OF_A_BYTE * self._body_bytes
        await self._wait(ROOM, self._in_flight.room_to_make(count, account))
        self._made_for = account
        self._made_bytes += count

    def unmake(self) -> None:
        """Count that what was made of the body is not held any more."""
        count, self._made_bytes = self._made_bytes, 0
        if count:
            self._in_flight.unmake(count, self._made_for)

    def discard(self) -> None:
        """Count that the body so far is not held any more."""
        self._body_bytes = 0
        self.hold(0)

    def hold(self, count: int) -> None:
        """Count that this request holds so many bytes from now on."""
        more_bytes = count - self._held_bytes
        if not more_bytes:
            return
        self._held_bytes = count
        self._in_flight.held_bytes += more_bytes
        if more_bytes < 0:
            self._in_flight.tell_of_room()

    def note_progress(self, now: float) -> None:
        """Note whether the client has read something of a reply, if the server can tell.

        Otherwise it only counts when the kernel takes the next chunk: a phone that reads a kilobyte
        a second needs more than a minute for one, and could never get a list of a megabyte.
        """
        if self._waits_for != READER or self._unsent is None:
            return
        if (unsent_bytes := self._unsent()) != self._unsent_bytes:
            self._unsent_bytes, self._since = unsent_bytes, now

    def is_too_slow(self, now: float) -> bool:
        """Say whether the client took too long for a whole body, or reads nothing of a reply."""
        # A body has to be complete in time: a client that sends a byte now and then would hold it
        # for ever. A reply may take long, if some of it is read: who reads slowly is not cut.
        since = self._began_at if self._waits_for == BODY else self._since
        is_of_client = self._waits_for in {BODY, READER}
        return is_of_client and now - since > PATIENCE_SECONDS

    def is_slow(self, now: float) -> bool:
        """Say whether this request may be cut if others wait for room."""
        if self._waits_for == ROOM:
            return True
        return self._waits_for != NOTHING and now - self._began_at > SLOW_SECONDS

    def rank(self) -> tuple[int, float]:
        """Return a key to sort by: requests that are to be cut first come first.

        Of slow clients, those that have been slow the longest come first.
        """
        # Bodies that wait for room wait for one another, through no fault of their clients: if the
        # newest is cut, the others can be completed.
        is_for_room = self._waits_for == ROOM
        return self._waits_for, -self._began_at if is_for_room else self._began_at

    def cut(self, *, is_for_room: bool) -> None:
        """Release what this request holds, and end its wait with an error."""
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
        """Await something; `cut` can end that meanwhile."""
        self._since = time.monotonic()
        # Of waits for the same thing in a row, such as the chunks of a body, the first one counts.
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
