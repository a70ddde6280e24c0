"""Accepting connections: each is counted from then on, and some are cut to make room for others.

asyncio's own server reports a connection only after its TLS handshake, so that silent handshakes
would not be counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nsmallest

import structlog

from feedkeep.http import backpressure
from feedkeep.http.serving.listening import BACKLOG
from feedkeep.http.serving.protocol import Protocol

AT_ONCE = 32
"""How many connections are accepted before other tasks can run."""

PAUSE_SECONDS = 0.5
"""Pause of accepting after the system refused, and no connection can be cut to make room."""

LINGER_SECONDS = 0.1
"""How long, at a stop, the request of the last accepted connection may take to arrive."""

_OWES_FOR_LONG, _IDLE, _OWES = range(3)

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(eq=False, slots=True)
class _Newcomer:
    """A connection that no protocol knows yet, or that is in its TLS handshake.

    Attributes:
        since: When it was accepted, in the event loop's time.
    """

    connection: socket.socket
    since: float
    is_cut: bool = False

    def cut(self) -> None:
        """End the connection; the task that lets it in finds it ended."""
        # A task that is cancelled just after the protocol got its connection would leave
        # it there for ever: uvloop closes the transport, and does not tell the protocol.
        self.is_cut = True
        with contextlib.suppress(OSError):  # it has ended already
            self.connection.shutdown(socket.SHUT_RDWR)


class Acceptor:
    """Accepts the connections of a listening socket, until it is closed.

    When there are as many as there may be, some are cut to make room. First those that have owed us
    something for more than a second: the end of a handshake, a head, a body. Then idle ones, then
    others that owe us something; of each kind those that have done so the longest. A connection
    whose request is being answered is never cut.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], Protocol],
        connections: set[Protocol],
        tls: ssl.SSLContext | None,
        max_connections: int,
    ) -> None:
        self._listener = listener
        self._protocol = protocol
        self._connections = connections
        self._tls = tls
        self._max_connections = max_connections
        self._entering: dict[asyncio.Task[None], _Newcomer] = {}
        self._loop = asyncio.get_running_loop()

    def open(self) -> None:
        """Begin to accept connections."""
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)  # most do already, but not one of `Sockets.bound_anew`
        self._loop.add_reader(self._listener, self._take, AT_ONCE)

    async def close(self) -> None:
        """Accept all that the kernel has queued, read what is on its way, and close the socket."""
        self._loop.remove_reader(self._listener)
        self._take(BACKLOG)
        self._listener.close()
        await asyncio.sleep(LINGER_SECONDS)
        for _ in range(2):  # on a busy machine too, what arrived during the pause is read
            await asyncio.sleep(0)
        for newcomer in self._entering.values():
            newcomer.cut()

    def _take(self, max_taken: int) -> None:
        """Accept connections while there are any, but not more than `max_taken`."""
        for taken in range(max_taken):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):  # none is left, or its client is gone
                return
            except OSError as error:
                if taken:  # the system refuses before it looks whether there is another one
                    return
                # The files of cut connections are free again in the loop's next turn.
                if error.errno != errno.EMFILE or not self._make_room():
                    self._pause(error)
                return
            is_full = len(self._entering) + len(self._connections) >= self._max_connections
            if is_full and not self._make_room():
                connection.close()
            else:
                self._enter(connection)

    def _enter(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        newcomer = _Newcomer(connection, self._loop.time())
        task = self._loop.create_task(self._let_in(newcomer))
        self._entering[task] = newcomer
        task.add_done_callback(lambda task: self._entering.pop(task, None))

    async def _let_in(self, newcomer: _Newcomer) -> None:
        if newcomer.is_cut:
            newcomer.connection.close()
            return
        seconds = backpressure.PATIENCE_SECONDS if self._tls else None
        with contextlib.suppress(OSError):  # it does not speak TLS, took too long, or has left
            await self._loop.connect_accepted_socket(
                self._protocol, newcomer.connection, ssl=self._tls, ssl_handshake_timeout=seconds
            )

    def _pause(self, error: OSError) -> None:
        _log.error("no connection can be taken in", reason=error.strerror)
        self._loop.remove_reader(self._listener)
        self._loop.call_later(PAUSE_SECONDS, self._go_on)

    def _go_on(self) -> None:
        if self._listener.fileno() >= 0:  # unless it was closed meanwhile
            self.open()

    def _make_room(self) -> bool:
        """Cut a hundredth of all connections, so that this is seldom needed; say if any was cut."""
        now = self._loop.time()
        count = self._max_connections // 100 + 1
        victims = nsmallest(count, self._ranked(now), key=lambda pair: pair[0])
        for _, victim in victims:
            if isinstance(victim, asyncio.Task):
                self._entering.pop(victim).cut()
            else:
                victim.cut()
                self._connections.discard(victim)
        return bool(victims)

    def _ranked(
        self, now: float
    ) -> Iterator[tuple[tuple[int, float], asyncio.Task[None] | Protocol]]:
        for task, newcomer in self._entering.items():
            yield _rank(newcomer.since, now), task
        for connection in self._connections:
            owes_since = connection.owes_since
            if owes_since is not None:
                yield _rank(owes_since, now), connection
            elif connection.is_idle():
                yield (_IDLE, connection.last_seen), connection


def _rank(owes_since: float, now: float) -> tuple[int, float]:
    # Otherwise silent TLS handshakes, or bodies without their last byte, could occupy every
    # connection slot. A client that has just connected owes a head, too, and has a second to send
    # it: idle clients go before it.
    is_slow = now - owes_since > backpressure.SLOW_SECONDS
    return _OWES_FOR_LONG if is_slow else _OWES, owes_since
