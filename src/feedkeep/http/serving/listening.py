"""Listening on a socket, and serving on it until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import resource
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import Any, NamedTuple, cast

import structlog
import uvicorn
from starlette.types import ASGIApp

from feedkeep.errors import FeedkeepError
from feedkeep.http.draining import Draining
from feedkeep.http.serving.accepting import BACKLOG, Doorway
from feedkeep.http.serving.in_flight import InFlight
from feedkeep.http.serving.protocol import KEEP_ALIVE_SECONDS, Protocol
from feedkeep.notify import Signs
from feedkeep.settings import Settings
from feedkeep.stopping import stop_signals

GRACE_SECONDS = 8
"""How long requests under way may take once the service is told to stop."""

SERVER_SETTINGS: dict[str, Any] = {
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "timeout_keep_alive": KEEP_ALIVE_SECONDS,
    "timeout_graceful_shutdown": GRACE_SECONDS,
}
"""How uvicorn is run; the floor of the bench is run so, too."""

_TICK_SECONDS = 0.1
"""How soon, while it drains, a process takes notice of a signal."""

OTHER_FILES = 100
"""How many open files, besides the connections of clients, a process has room for."""

_log = structlog.get_logger()

_FIRST_INHERITED = 3
_UNSENT_BYTES = 64 * 1024
_SWEEP_SECONDS = 1.0
_ALLOCATIONS_UNTIL_COLLECTED = 50_000


METRICS_CONNECTIONS = 8
"""How many connections the port of metrics has; for a further one, one of these is closed."""

_GRACE_SECONDS = 1
"""How long a reply of a server beside the service may still take when it has stopped."""

_METRICS_BYTES = 16 * 1024 * 1024
"""How many bytes of replies may be in progress at the port of metrics."""


class CannotListen(FeedkeepError):
    """The address or the certificate cannot be used; `str()` of it says why."""


class Sockets(NamedTuple):
    """Where a process listens.

    Attributes:
        clients: For those that it serves.
        metrics: For metrics, if they are wanted.
        is_first: Whether it is the first of the processes that one command starts.
    """

    clients: socket.socket
    metrics: socket.socket | None = None
    is_first: bool = True

    def close(self) -> None:
        """Refuse new connections from now on."""
        self.clients.close()
        if self.metrics:
            self.metrics.close()


def listen(settings: Settings) -> list[socket.socket]:
    """Return a socket for each worker; they all listen where the settings say.

    The kernel spreads connections over them. If they shared one socket, the first worker to wake up
    would accept all connections of a burst. They do share one that this process was started with
    (sd_listen_fds(3)): it is there before and after them, and so are the connections that wait.

    Raises:
        CannotListen: The address is in use, is not this machine's, or is not valid; the certificate
            cannot be used; or what the process was started with is not one TCP socket.
    """
    tls_context(settings)
    if (inherited := _inherited()) is not None:
        return [inherited, *(inherited.dup() for _ in range(settings.workers - 1))]
    with _telling(settings.host, settings.port):
        family, address = _resolved(settings.host, settings.port)
        first = _bound(family, address, is_shared=False)  # which finds out whether it is free
        if settings.workers == 1:
            listeners = [first]
        else:
            address = first.getsockname()
            first.close()
            listeners = [_bound(family, address, is_shared=True) for _ in range(settings.workers)]
        for listener in listeners:
            listener.listen(BACKLOG)
    return listeners


def listen_for_metrics(settings: Settings, processes: int) -> list[socket.socket | None]:
    """Return a socket for the metrics of each process; None for each if they are not wanted.

    They have a port each, so that Prometheus reaches all of them: each counts for itself.

    Raises:
        CannotListen: An address is in use, is not this machine's, or is not valid.
    """
    first = settings.metrics_port
    if first is None:
        return [None] * processes
    listeners: list[socket.socket | None] = []
    with contextlib.ExitStack() as opened:
        for number in range(processes):
            port = first + number if first else 0
            with _telling(settings.metrics_host, port, "metrics_port (FEEDKEEP_METRICS_PORT)"):
                family, address = _resolved(settings.metrics_host, port)
                listener = opened.enter_context(_bound(family, address, is_shared=False))
                listener.listen(BACKLOG)
                listeners.append(listener)
        opened.pop_all()  # they stay open, since all could be
    return listeners


@contextlib.contextmanager
def _telling(host: str, port: int, named_by: str = "--port") -> Iterator[None]:
    """Say of an error in this context where nobody can listen, and what names another port."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "that is not a valid address"
        is_used = getattr(error, "errno", 0) == errno.EADDRINUSE
        other = f"; {named_by} names another" if is_used else ""
        raise CannotListen(f"Cannot listen on {host} port {port}: {reason}{other}.") from error


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    return family, address


def _inherited() -> socket.socket | None:
    """Return the listening socket that this process was started with, if it was."""
    count = os.environ.pop("LISTEN_FDS", "0")
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()) or count == "0":
        return None
    if count != "1":
        raise CannotListen(f"Started with {count} sockets; there can be one, so name one address.")
    try:
        listener = socket.socket(fileno=_FIRST_INHERITED)
        is_listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise CannotListen(f"Started without the socket that was promised: {error}.") from error
    is_tcp = listener.family in {socket.AF_INET, socket.AF_INET6}
    if not (is_tcp and is_listening):
        raise CannotListen("Started with a socket that is not one of TCP, or does not listen.")
    listener.set_inheritable(False)
    _hold_little_of_replies(listener)
    return listener


def _bound(family: int, address: Any, *, is_shared: bool) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    _hold_little_of_replies(listener)
    try:
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _hold_little_of_replies(listener: socket.socket) -> None:
    # All its connections inherit this. Without it, the kernel takes megabytes of a reply, and for
    # half a minute nobody can see whether a slow client reads any of it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)


async def run(
    app: ASGIApp,
    listener: socket.socket,
    settings: Settings,
    signs: Signs | None = None,
    draining: Draining | None = None,
) -> None:
    """Serve until SIGTERM, SIGHUP or Ctrl-C, then answer all accepted requests, and return.

    After the first two it goes on to serve for `drain_seconds`, in which `draining` turns clients
    away; Ctrl-C, or a second signal, ends that. `signs` are given meanwhile.
    """
    in_flight = InFlight(app, settings.max_in_flight_bytes)
    server = _Server(in_flight, listener, tls_context(settings), signs)
    server.drain_seconds = settings.drain_seconds
    server.draining = draining or server.draining
    _collect_seldom()
    sweeping = asyncio.create_task(_sweep(server, in_flight))
    with _stopped_by_signals(server):
        await server.serve(sockets=[])
    sweeping.cancel()


@contextlib.asynccontextmanager
async def serving_metrics(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    """Serve metrics within this context, with the limits that clients have, but less of all."""
    in_flight = InFlight(app, _METRICS_BYTES)
    async with _beside(
        _SideServer(in_flight, listener, None, None, METRICS_CONNECTIONS), in_flight
    ):
        yield


@contextlib.asynccontextmanager
async def serving_until_ready(
    app: ASGIApp, listeners: Sequence[socket.socket], settings: Settings
) -> AsyncIterator[None]:
    """Serve within this context at sockets that stay open: the service itself takes them over."""
    async with contextlib.AsyncExitStack() as serving:
        for listener in listeners:
            in_flight = InFlight(app, settings.max_in_flight_bytes)
            server = _SideServer(in_flight, listener.dup(), tls_context(settings))
            await serving.enter_async_context(_beside(server, in_flight))
        yield


@contextlib.asynccontextmanager
async def _beside(server: _SideServer, in_flight: InFlight) -> AsyncIterator[None]:
    server.config.timeout_graceful_shutdown = _GRACE_SECONDS
    sweeping = asyncio.create_task(_sweep(server, in_flight))
    serving = asyncio.create_task(server.serve(sockets=[]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
        sweeping.cancel()


class _Server(uvicorn.Server):
    """uvicorn's server, which accepts connections by `Doorway`, and drains before it stops.

    Attributes:
        drain_seconds: For how long it goes on to serve after it was told to stop.
        draining: Turns clients away meanwhile.
    """

    drain_seconds = 0.0

    def __init__(
        self,
        app: InFlight,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        signs: Signs | None = None,
        max_connections: int | None = None,
    ) -> None:
        """Serve on a socket; without a number, as many connections as files may be open."""
        super().__init__(uvicorn.Config(cast("Any", app), **SERVER_SETTINGS))
        self._max_connections = max_connections
        self._listener = listener
        self._tls = tls
        self._signs = signs
        self.draining = Draining()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; do so at once after Ctrl-C, or if this is the second signal.

        No signal cuts what was accepted, as uvicorn's second Ctrl-C would: the stop is short.
        """
        if sig == signal.SIGINT or self.should_exit:
            self.drain_seconds = 0.0
        super().handle_exit(signal.SIGTERM, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and accept connections."""
        await super().startup(sockets)
        new = partial(
            Protocol,
            self.config,
            self.server_state,
            self.lifespan.state,
            draining=self.draining,
        )
        connections = cast("set[Protocol]", self.server_state.connections)
        max_connections = self._max_connections or _room_for_connections()
        self._doorway = Doorway(self._listener, new, connections, self._tls, max_connections)
        self._doorway.open()
        if self._signs is not None:
            self._signs.begin()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, accept the last connections, answer all requests, and end."""
        if self._signs is not None:
            self._signs.end()
        await self._drain()
        await self._doorway.close()
        await super().shutdown(sockets)

    async def _drain(self) -> None:
        """Go on to serve for a while, so that whoever sends requests turns to others."""
        self.draining.begin()
        if self.drain_seconds:
            _log.info("draining: /readyz refuses, and each connection ends with its next reply")
        since = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - since < self.drain_seconds:
            await asyncio.sleep(min(_TICK_SECONDS, self.drain_seconds))
            await self.on_tick(0)  # which keeps the date of replies


class _SideServer(_Server):
    """A server beside another one, which is told to stop by that one's end and not by signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the other one."""
        yield


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context for HTTPS, or None for HTTP.

    Raises:
        CannotListen: The certificate or its key cannot be used.
    """
    if not settings.tls_cert:
        if settings.tls_key:
            raise CannotListen("tls_key is set without a certificate: set tls_cert, too.")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key or None, password="")
    except OSError as error:
        is_content = isinstance(error, ssl.SSLError)
        reason = "not PEM, or they do not belong together" if is_content else error.strerror
        files = " and ".join(filter(None, (settings.tls_cert, settings.tls_key)))
        raise CannotListen(f"Cannot use {files} for HTTPS: {reason}.") from error
    return context


def _collect_seldom() -> None:
    """Let Python's garbage collector run less often, and skip the objects that exist at the start.

    Requests create many short-lived objects, which make the collector run, but no cycles for it to
    find. With Python's own threshold, 4,400 POSTs were answered in a second; without the collector,
    4,700.
    """
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_UNTIL_COLLECTED)


async def _sweep(server: uvicorn.Server, in_flight: InFlight) -> None:
    """Cut slow clients once a second; an error with one of them does not spare the others."""
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        connections = cast("set[Protocol]", server.server_state.connections)
        for cut in [in_flight.cut_the_slow, *(one.cut_if_too_slow for one in connections)]:
            try:
                cut()
            except Exception as error:  # noqa: BLE001 - the others have to be cut all the same
                _log.error("a client cannot be cut", exc_info=error)


def _room_for_connections() -> int:
    """Raise this process's limit of open files; return how many connections that allows."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard_limit, 65_536) if hard_limit != resource.RLIM_INFINITY else 65_536
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard_limit))
    return max(OTHER_FILES, wanted - OTHER_FILES)


@contextlib.contextmanager
def _stopped_by_signals(server: _Server) -> Iterator[None]:
    """Have signals stop the server within this context, also before it has begun.

    Only once it has begun would uvicorn do so, and not for SIGHUP. At its end it raises signals
    again, which end nothing here: the store has still to be closed.
    """
    before = {number: signal.signal(number, server.handle_exit) for number in stop_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
