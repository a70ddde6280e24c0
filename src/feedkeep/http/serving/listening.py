"""The sockets that clients reach this process at, and the certificate that it shows them."""

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
"""How many connections the kernel queues until they are accepted."""

_FIRST_INHERITED = 3
_UNSENT_BYTES = 64 * 1024


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

    def bound_anew(self) -> Sockets:
        """Close the socket, which resets those who queue there; bind one that does not listen yet.

        Until it does, the kernel gives all connections to the sockets of other processes.

        Raises:
            OSError: It cannot be bound.
        """
        former = self.clients
        clients = _bound(former.family, former.getsockname(), is_shared=True)
        former.close()
        return self._replace(clients=clients)


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
    """Say of an error in this context which address cannot be used, and what names another port."""
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
    # half a minute this process cannot see whether a slow client reads any of it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)


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
