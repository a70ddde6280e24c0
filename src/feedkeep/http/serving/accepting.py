"""Accept and count connections, and cut some to make room for others.

asyncio's own server reports a connection only after its TLS handshake, so silent handshakes would
not be counted.
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
"""Maximum number of connections accepted before other tasks can run."""

PAUSE_SECONDS = 0.5
"""Pause of accepting after the system refused, when no connection can be cut to make room."""

LINGER_SECONDS = 0.1
"""Time, when the server stops, for the request of the last accepted connection to arrive."""

_OWES_FOR_LONG, _IDLE, _OWES = range(3)

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(eq=False, slots=True)
class _PendingConnection:
    """A connection without a protocol yet, or in its TLS handshake; `since` is in loop time."""

    connection: socket.socket
    since: float
    is_cut: bool = False

    def cut(self) -> None:
        """Shut the connection down; `_let_in` notices."""
        # Cancelling the task just after the protocol got its connection would leave it there
        # forever: uvloop closes the transport without telling the protocol.
        self.is_cut = True
        with contextlib.suppress(OSError):  # already closed
            self.connection.shutdown(socket.SHUT_RDWR)


class Acceptor:
    """Accepts the connections of a listening socket until closed.

    At the maximum, connections are cut to make room: first those that have owed us something (the
    end of a handshake, a head, a body) for more than a second, then idle ones, then others that owe
    us something; the longest first. A connection whose request is being answered is never cut.
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
        self._entering: dict[asyncio.Task[None], _PendingConnection] = {}
        self._loop = asyncio.get_running_loop()

    def open(self) -> None:
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)  # a socket of `Sockets.bound_anew` does not listen yet
        self._loop.add_reader(self._listener, self._take, AT_ONCE)

    async def close(self) -> None:
        """Accept all queued connections, read pending input, and close the socket."""
        self._loop.remove_reader(self._listener)
        self._take(BACKLOG)
        self._listener.close()
        await asyncio.sleep(LINGER_SECONDS)
        for _ in range(2):  # even on a busy machine, read what arrived during the pause
            await asyncio.sleep(0)
        for pending in self._entering.values():
            pending.cut()

    def _take(self, max_taken: int) -> None:
        for taken in range(max_taken):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):  # none left, or the client has gone
                return
            except OSError as error:
                if taken:  # the system refuses before it checks for another connection
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
        pending = _PendingConnection(connection, self._loop.time())
        task = self._loop.create_task(self._let_in(pending))
        self._entering[task] = pending
        task.add_done_callback(lambda task: self._entering.pop(task, None))

    async def _let_in(self, pending: _PendingConnection) -> None:
        if pending.is_cut:
            pending.connection.close()
            return
        seconds = backpressure.PATIENCE_SECONDS if self._tls else None
        with contextlib.suppress(OSError):  # not TLS, timed out, or disconnected
            await self._loop.connect_accepted_socket(
                self._protocol, pending.connection, ssl=self._tls, ssl_handshake_timeout=seconds
            )

    def _pause(self, error: OSError) -> None:
        _log.error("cannot accept connections; will retry", reason=error.strerror)
        self._loop.remove_reader(self._listener)
        self._loop.call_later(PAUSE_SECONDS, self._go_on)

    def _go_on(self) -> None:
        if self._listener.fileno() >= 0:  # not closed in the meantime
            self.open()

    def _make_room(self) -> bool:
        """Cut 1 % of all connections, so that this is rarely needed; return whether any was cut."""
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
        for task, pending in self._entering.items():
            yield _rank(pending.since, now), task
        for connection in self._connections:
            owes_since = connection.owes_since
            if owes_since is not None:
                yield _rank(owes_since, now), connection
            elif connection.is_idle():
                yield (_IDLE, connection.last_seen), connection


def _rank(owes_since: float, now: float) -> tuple[int, float]:
    # Otherwise silent TLS handshakes, or bodies without their last byte, could occupy every
    # connection slot. A new client also owes a head, and has a second to send it: idle clients go
    # first.
    is_slow = now - owes_since > backpressure.SLOW_SECONDS
    return _OWES_FOR_LONG if is_slow else _OWES, owes_since
