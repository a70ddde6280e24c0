"""Limits on request bodies and replies in progress, as plain ASGI that works on any server.

They bound the memory of all together, and the time that a client takes to send or read. `Draining`
ends connections before shutdown.
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
"""Size of the chunks in which a reply is given to the server."""

PATIENCE_SECONDS = 30.0
"""Timeout of sending a body, and of reading some part of a reply (C1.7)."""

SLOW_SECONDS = 1.0
"""A client that is slow for longer may be cut if other requests wait for memory."""

WAIT_SECONDS = 5.0
"""Maximum wait of a request for memory."""

MADE_OF_A_BYTE = 17
"""Memory for decoding, per byte of a body: 6 bytes for a list of 4 MiB, and 17 for a body of 1.6 MB
with 400,000 texts of one letter."""

_log = structlog.get_logger()

# Since this ASGI version, `send` may raise when the client has left. With an older one, Starlette
# waits for that in a second task per response.
_ASGI = {"version": "3.0", "spec_version": "2.4"}

T = TypeVar("T")


class ClientTooSlow(ConnectionError):
    """A client does not read its reply."""


# What a request waits for, in the order of being cut when memory is short. Numbers: an enum costs a
# microsecond per request.
NOTHING, BODY, READER, ROOM = range(4)


class InFlight:
    """Limits the memory that the requests of an application hold.

    A body counts from its arrival until its request is answered, a reply until the client has
    received it. While the limit is reached, new requests and the rest of large bodies wait, and get
    503 after `WAIT_SECONDS`. A large reply does not wait: if it does not fit, the client gets 503.

    Decoding has an equal limit of its own; a request holds its part until its reply begins. One
    account may use a quarter of that, or decode one body of any size, so that an account with many
    requests does not block others.

    Attributes:
        held_bytes: Memory of bodies and replies.
        made_bytes: Memory reserved for decoding.
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
        except NoRoom:  # before routing
            _log.warning("request refused; memory limit reached", in_flight_bytes=self.held_bytes)
            await NO_ROOM.last_response()(scope, receive, send)
        except ClientTooSlow:
            pass  # the reply is incomplete, so the server cuts the connection
        finally:
            self._requests.discard(request)
            request.hold(0)
            request.unmake()

    def cut_the_slow(self) -> None:
        """Cut clients that time out, and slow clients while others wait; call once a second."""
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
        return self.held_bytes >= self._max_bytes

    def has_room_for(self, count: int) -> bool:
        """Whether `count` more bytes fit; always true while no request holds any."""
        # Otherwise a reply larger than the limit could never be sent, even to the only client.
        return self.held_bytes + count <= self._max_bytes or self.held_bytes == 0

    async def room(self) -> None:
        """Wait until requests hold less than the limit.

        Raises:
            NoRoom: The wait took `WAIT_SECONDS`.
        """
        await _wait_while(self.is_full, self._freed)

    async def room_to_make(self, count: int, account: Hashable) -> None:
        """Reserve `count` bytes for decoding a body of an account, waiting if necessary.

        Raises:
            NoRoom: The wait took `WAIT_SECONDS`.
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
        """Release `count` bytes that were reserved for decoding."""
        self.made_bytes -= count
        self._made_for[account] -= count
        if not self._made_for[account]:
            del self._made_for[account]
        self._unmade.set()

    def tell_of_room(self) -> None:
        """Wake waiting requests if memory is available."""
        if not self.is_full():
            self._freed.set()


async def _wait_while(is_without_room: Callable[[], object], freed: asyncio.Event) -> None:
    """Wait for memory.

    Raises:
        NoRoom: The wait took `WAIT_SECONDS`.
    """
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while is_without_room():
                freed.clear()
                await freed.wait()
    except TimeoutError:
        raise NoRoom from None


class _Request:
    """A request in progress."""

    # Slots: class-level defaults are slower to look up, several times per request.
    __slots__ = (
        "_began_at",
        "_body_bytes",
        "_error",
        "_held_bytes",
        "_in_flight",
        "_is_whole",
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
        self._is_whole = False  # the body

    async def receive(self) -> Message:
        """Receive a chunk of the body; all but the first wait for memory.

        After the whole body, this waits until the client leaves.
        """
        if self._is_whole:
            return await self._receive()
        if self._body_bytes and self._in_flight.is_full():
            await self._wait(ROOM, self._in_flight.room())
        event = await self._wait(BODY, self._receive())
        self._body_bytes += len(event.get("body", b""))
        self._is_whole = not event.get("more_body", False)
        self.hold(self._body_bytes)
        return event

    async def send(self, message: Message) -> None:
        """Send the start of a reply, or a chunk of its body of any size."""
        if message["type"] == "http.response.start":
            # Sent with the body: a reply that does not fit can still become a 503.
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
        """Account for the content of a reply until the reply is sent.

        Raises:
            NoRoom: The memory is used up.
        """
        if not self._in_flight.has_room_for(count):
            raise NoRoom
        self.hold(self._body_bytes + count)

    async def make(self, account: Hashable) -> None:
        """Reserve memory to decode the whole body, once, until the reply begins.

        Raises:
            NoRoom: The wait took `WAIT_SECONDS`.
        """
        count = MADE_OF_A_BYTE * self._body_bytes
        await self._wait(ROOM, self._in_flight.room_to_make(count, account))
        self._made_for = account
        self._made_bytes += count

    def unmake(self) -> None:
        """Release the memory for decoding."""
        count, self._made_bytes = self._made_bytes, 0
        if count:
            self._in_flight.unmake(count, self._made_for)

    def discard(self) -> None:
        """Release the memory of the received body."""
        self._body_bytes = 0
        self.hold(0)

    def hold(self, count: int) -> None:
        """Set the number of bytes that this request holds."""
        more_bytes = count - self._held_bytes
        if not more_bytes:
            return
        self._held_bytes = count
        self._in_flight.held_bytes += more_bytes
        if more_bytes < 0:
            self._in_flight.tell_of_room()

    def note_progress(self, now: float) -> None:
        """Record whether the client has read part of a reply, if the server can tell.

        Otherwise progress is visible only when the kernel takes the next chunk, which a phone at a
        kilobyte a second cannot read in time: it could never get a list of a megabyte.
        """
        if self._waits_for != READER or self._unsent is None:
            return
        if (unsent_bytes := self._unsent()) != self._unsent_bytes:
            self._unsent_bytes, self._since = unsent_bytes, now

    def is_too_slow(self, now: float) -> bool:
        """Whether the client timed out sending a whole body, or reading any part of a reply."""
        # A body must be complete in time, or a client could hold it forever with a byte now and
        # then. A reply may take any time while the client makes progress.
        since = self._began_at if self._waits_for == BODY else self._since
        is_of_client = self._waits_for in {BODY, READER}
        return is_of_client and now - since > PATIENCE_SECONDS

    def is_slow(self, now: float) -> bool:
        """Whether this request may be cut if others wait for memory."""
        if self._waits_for == ROOM:
            return True
        return self._waits_for != NOTHING and now - self._began_at > SLOW_SECONDS

    def rank(self) -> tuple[int, float]:
        """Sort key: requests to cut first come first, and the longest-slow clients among them."""
        # Bodies waiting for memory block one another, through no fault of their clients; cutting
        # the newest lets the others complete.
        is_for_room = self._waits_for == ROOM
        return self._waits_for, -self._began_at if is_for_room else self._began_at

    def cut(self, *, is_for_room: bool) -> None:
        """Release the request's memory, and end its wait with an error."""
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
        """Await something that `cut` can end."""
        self._since = time.monotonic()
        # Consecutive waits for the same thing, such as chunks of a body, count as one.
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


class Draining:
    """State of the drain period.

    Attributes:
        has_begun: Whether it has begun: `/readyz` fails, and each connection closes after its next
            reply.
    """

    has_begun = False

    def begin(self) -> None:
        self.has_begun = True
