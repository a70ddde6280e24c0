"""Serve connections of a listening socket until stopped."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import resource
import signal
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from email.utils import formatdate
from functools import partial

import structlog
from starlette.types import ASGIApp

from feedkeep.config.settings import Settings
from feedkeep.http.backpressure import Draining, InFlight
from feedkeep.http.serving.accepting import Acceptor
from feedkeep.http.serving.listening import tls_context
from feedkeep.http.serving.protocol import Protocol, Serving
from feedkeep.runtime.notify import Signs
from feedkeep.runtime.tasks import stop_signals


def release_freed_memory() -> None:
    """Release the free pages of glibc's heap; takes milliseconds. Other C libraries are skipped.

    uvloop allocates 256 KiB for each TLS connection, and glibc keeps the freed pages between live
    objects: three rounds of 1,500 connections left 136 MiB, and 6 MiB with this call.
    """
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))


GRACE_SECONDS = 8.0
"""Grace period for requests in progress when the service stops."""

OTHER_FILES = 100
"""Open files of a process besides its connections to clients and to PostgreSQL."""

METRICS_CONNECTIONS = 8
"""Maximum number of connections to the metrics port; a further one replaces one of them."""

_METRICS_BYTES = 16 * 1024 * 1024
"""Memory limit for requests to the metrics port."""

_GRACE_BESIDE_SECONDS = 1.0
"""Grace period of the metrics server and of servers that run until the service is ready."""

_CANCEL_SECONDS = 1.0
"""Timeout of cancelled requests."""

_POLL_SECONDS = 0.05
_SWEEP_SECONDS = 1.0
_COLLECTED_AFTER = (50_000, 2, 30)
"""Allocations until the first generation is collected, and collections of each until the next."""

_LOST_UNTIL_RELEASED = 50
"""Number of ended connections after which their memory is returned to the system."""

_log = structlog.get_logger()


async def run(
    app: ASGIApp,
    listener: socket.socket,
    settings: Settings,
    signs: Signs | None = None,
    draining: Draining | None = None,
) -> None:
    """Serve until SIGTERM, SIGHUP or Ctrl-C, then answer all accepted requests.

    After the first two, service continues for `drain_seconds` while `draining` turns clients away;
    Ctrl-C or a second signal ends that. `signs` reports both to the service manager.
    """
    server = Server(
        InFlight(app, settings.max_in_flight_bytes),
        listener,
        tls_context(settings),
        max_connections=_room_for_connections(settings),
        draining=draining,
        drain_seconds=settings.drain_seconds,
    )
    _collect_seldom()
    with _stopped_by_signals(server):
        await server.serve(signs)


@contextlib.asynccontextmanager
async def serving_metrics(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    """Context manager: serve metrics, within smaller limits."""
    in_flight = InFlight(app, _METRICS_BYTES)
    async with _beside(Server(in_flight, listener, None, max_connections=METRICS_CONNECTIONS)):
        yield


@contextlib.asynccontextmanager
async def serving_until_ready(
    app: ASGIApp, listeners: Sequence[socket.socket], settings: Settings
) -> AsyncIterator[None]:
    """Context manager: serve on duplicates of sockets that the service takes over afterwards."""
    async with contextlib.AsyncExitStack() as serving:
        for listener in listeners:
            in_flight = InFlight(app, settings.max_in_flight_bytes)
            server = Server(
                in_flight,
                listener.dup(),
                tls_context(settings),
                max_connections=_room_for_connections(settings),
            )
            await serving.enter_async_context(_beside(server))
        yield


@contextlib.asynccontextmanager
async def _beside(server: Server) -> AsyncIterator[None]:
    server.grace_seconds = _GRACE_BESIDE_SECONDS
    serving = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        server.stop()
        await serving


class Server:
    """Serves an application on a listening socket.

    Args:
        draining: Told when the server stops.
        drain_seconds: Duration of the drain period.

    Attributes:
        grace_seconds: Grace period for requests in progress when the server stops.
    """

    grace_seconds = GRACE_SECONDS

    def __init__(
        self,
        app: InFlight,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        *,
        max_connections: int,
        draining: Draining | None = None,
        drain_seconds: float = 0.0,
    ) -> None:
        self._app = app
        self._serving = Serving(app, draining or Draining())
        self._drain_seconds = drain_seconds
        self._stopping, self._in_haste = asyncio.Event(), asyncio.Event()
        new = partial(Protocol, self._serving)
        connections = self._serving.connections
        self._acceptor = Acceptor(listener, new, connections, tls, max_connections)

    def stop(self, *, in_haste: bool = False) -> None:
        """Initiate the stop; skip the drain period if `in_haste` or on the second call.

        The grace period for accepted requests remains.
        """
        if in_haste or self._stopping.is_set():
            self._in_haste.set()
        self._stopping.set()

    async def serve(self, signs: Signs | None = None) -> None:
        """Serve until stopped, then drain and answer all accepted requests."""
        self._set_date()
        sweeping = asyncio.create_task(self._sweep())
        self._acceptor.open()
        if signs is not None:
            signs.begin()
        await self._stopping.wait()
        if signs is not None:
            signs.end()
        await self._drain()
        await self._acceptor.close()
        await self._finish()
        sweeping.cancel()

    async def _drain(self) -> None:
        """Continue to serve, so that load balancers move to other processes."""
        self._serving.draining.begin()
        if self._drain_seconds:
            _log.info("draining; connections close after their next reply")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._drain_seconds):
                    await self._in_haste.wait()

    async def _finish(self) -> None:
        connections, tasks = self._serving.connections, self._serving.tasks
        for connection in list(connections):
            connection.close_if_unused()
        for _ in range(round(self.grace_seconds / _POLL_SECONDS)):
            if not connections and not tasks:
                return
            await asyncio.sleep(_POLL_SECONDS)
            for connection in list(connections):
                connection.close_if_unused()
        if tasks:
            _log.error("stopping; cancelling unfinished requests", count=len(tasks))
            for task in list(tasks):
                task.cancel()
            await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)

    async def _sweep(self) -> None:
        """Cut slow clients once a second."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._set_date()
            if self._serving.lost_count >= _LOST_UNTIL_RELEASED:
                self._serving.lost_count = 0
                await asyncio.to_thread(release_freed_memory)
            connections = self._serving.connections
            for cut in [self._app.cut_the_slow, *(one.cut_if_too_slow for one in connections)]:
                try:
                    cut()
                except Exception as error:  # noqa: BLE001 - the others have to be cut anyway
                    _log.error("cannot abort a connection", exc_info=error)

    def _set_date(self) -> None:
        self._serving.date = f"date: {formatdate(time.time(), usegmt=True)}\r\n".encode()


@contextlib.contextmanager
def _stopped_by_signals(server: Server) -> Iterator[None]:
    """Context manager: stop the server at each signal, in haste at Ctrl-C."""
    loop = asyncio.get_running_loop()

    def stop(number: int, _frame: object) -> None:
        is_in_haste = number == signal.SIGINT
        loop.call_soon_threadsafe(partial(server.stop, in_haste=is_in_haste))

    before = {number: signal.signal(number, stop) for number in stop_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _collect_seldom() -> None:
    """Run Python's garbage collector rarely, and exempt the objects that exist at the start.

    Requests create many short-lived objects, which trigger the collector, but no cycles. With
    Python's threshold, 4,400 POSTs were answered per second; without the collector, 4,700. The
    second generation is collected sooner than by Python's thresholds: while an account of 20,000
    feeds was loaded, one collection stopped all requests for 133 ms, and now for 64 ms.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


def _room_for_connections(settings: Settings) -> int:
    """Raise the limit of open files; return the number of connections that it allows."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard_limit, 65_536) if hard_limit != resource.RLIM_INFINITY else 65_536
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard_limit))
    return connections_within(wanted, settings.postgres_connections)


def connections_within(files: int, postgres_connections: int) -> int:
    """Return the maximum number of client connections of a process that may open `files`."""
    # The rest is for other files, also at a low limit: without any, the database is unusable.
    return max(files // 2, files - OTHER_FILES - postgres_connections)
