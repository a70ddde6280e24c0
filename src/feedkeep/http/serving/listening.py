"""Listening sockets and the TLS context."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import ssl
from collections.abc import Iterator
from typing import Any, NamedTuple

from feedkeep.config.settings import Settings
from feedkeep.model.errors import FeedkeepError

BACKLOG = 2_048
"""Maximum number of connections that the kernel queues."""

_FIRST_INHERITED = 3
_UNSENT_BYTES = 64 * 1024


class CannotListen(FeedkeepError):
    """The address or certificate is unusable; the message says why."""


class Sockets(NamedTuple):
    """The listening sockets of a process.

    Attributes:
        metrics: Socket for metrics; None if disabled.
        is_first: Whether this is the first of the processes that a command starts.
    """

    clients: socket.socket
    metrics: socket.socket | None = None
    is_first: bool = True

    def close(self) -> None:
        self.clients.close()
        if self.metrics:
            self.metrics.close()

    def bound_anew(self) -> Sockets:
        """Replace the clients' socket by a bound socket that does not listen yet.

        Connections in the old queue are reset; until the new socket listens, the kernel gives all
        connections to other processes.

        Raises:
            OSError: The new socket cannot be bound.
        """
        former = self.clients
        clients = _bound(former.family, former.getsockname(), is_shared=True)
        former.close()
        return self._replace(clients=clients)


def listen(settings: Settings) -> list[socket.socket]:
    """Return a listening socket for each worker.

    The kernel distributes connections over them; with a shared socket, the first worker to wake up
    would accept a whole burst. A socket inherited from the parent (sd_listen_fds(3)) is shared all
    the same: it survives restarts, and so do the connections in its queue.

    Raises:
        CannotListen: The address is in use, not local or invalid, the certificate is unusable, or
            the inherited file is not a single TCP socket.
    """
    tls_context(settings)
    if (inherited := _inherited()) is not None:
        return [inherited, *(inherited.dup() for _ in range(settings.workers - 1))]
    with _telling(settings.host, settings.port):
        family, address = _resolved(settings.host, settings.port)
        first = _bound(family, address, is_shared=False)  # fails if the port is in use
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
    """Return a metrics socket for each process, or None for each if metrics are disabled.

    Each process has its own port, since it counts for itself and Prometheus must reach all.

    Raises:
        CannotListen: An address is in use, not local or invalid.
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
        opened.pop_all()  # keep them open
    return listeners


@contextlib.contextmanager
def _telling(host: str, port: int, named_by: str = "--port") -> Iterator[None]:
    """Context manager: translate errors to `CannotListen`, naming the address and the setting."""
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
    """Return the listening socket inherited from the parent (sd_listen_fds), if any."""
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
    # Inherited by all connections. Otherwise the kernel takes megabytes of a reply, and for half a
    # minute this process cannot see whether a slow client reads any of it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context for HTTPS; None for HTTP.

    Raises:
        CannotListen: The certificate or its key is unusable.
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
