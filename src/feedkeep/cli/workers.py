"""Supervisor of worker processes that serve one address: starts, watches and replaces them."""

from __future__ import annotations

import asyncio
import contextlib
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TypeAlias

import structlog
import uvloop

from feedkeep.config.settings import Settings
from feedkeep.http.serving.listening import Sockets
from feedkeep.model.errors import FeedkeepError
from feedkeep.runtime.logs import configure_logs
from feedkeep.runtime.notify import ALIVE, READY, STOPPING, tell_of_life
from feedkeep.runtime.tasks import stop_signals

Tell: TypeAlias = Callable[[str], None]
"""Sends a notification of a serving process (`feedkeep.runtime.notify`)."""

Serve: TypeAlias = Callable[[Settings, Sockets, Tell, None], Coroutine[None, None, None]]
"""Runs in a worker until stopped. It must be a module's function, since others cannot be pickled.

Its last argument is None: it sends no ALIVE, which `_serve_while_wanted` sends.
"""

PAUSE_SECONDS = 1.0
"""Pause before a worker that was never ready is replaced; others are replaced immediately."""

STOP_SECONDS = 12.0
"""Timeout of stopping workers, besides draining, before they are killed; they need a little less.
"""

HUNG_SECONDS = 30.0
"""Silence after which a worker is killed and replaced."""

PULSE_SECONDS = 3.0
"""Interval between a worker's ALIVE notifications."""

_POLL_SECONDS = 0.2

_LONGEST_LOOK_SECONDS = 1.0
"""Maximum part of the time between two checks that counts as silence of the workers."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()
_spawn = multiprocessing.get_context("spawn")


@dataclass(eq=False, slots=True)
class _Worker:
    """A worker process.

    Attributes:
        hearing: Connection that receives its notifications; None once it is closed.
        silent_seconds: Time since its last notification; None before the first.
        is_ready: Whether it has reported that it answers requests.
    """

    process: SpawnProcess
    hearing: Connection | None
    silent_seconds: float | None = None
    is_ready: bool = False


class Workers:
    """Runs a worker for each listener, and notifies once on behalf of all.

    ALIVE concerns this process alone, since it replaces workers that hang.

    Args:
        alive_each_seconds: Maximum interval between ALIVE notifications; None sends none.
    """

    def __init__(
        self,
        settings: Settings,
        listeners: list[Sockets],
        serve: Serve,
        tell: Tell,
        alive_each_seconds: float | None,
    ) -> None:
        self._settings = settings
        self._serve = serve
        self._listeners = listeners
        self._tell = tell
        self._alive_each_seconds = alive_each_seconds
        self._workers: dict[Sockets, _Worker] = {}
        files = {os.fstat(listener.clients.fileno()).st_ino for listener in listeners}
        self._share_a_socket = len(files) < len(listeners)
        self._notified_at = -math.inf
        self._is_stopping = False
        self._is_in_haste = False

    def run(self) -> None:
        """Serve until SIGTERM, SIGHUP or Ctrl-C; the workers stop too if this process dies."""
        for number in stop_signals():
            signal.signal(number, self._stop)
        try:
            looked_at = time.monotonic()
            while not self._is_stopping:
                self._bury_the_dead()
                self._start_what_is_missing()
                since, looked_at = looked_at, time.monotonic()
                self._end_what_hangs(looked_at - since)
                self._tell_of_life(looked_at)
                workers = {one.hearing: one for one in self._workers.values() if one.hearing}
                sentinels = [worker.process.sentinel for worker in self._workers.values()]
                for news in wait([*sentinels, *workers], _POLL_SECONDS):
                    if news in workers:
                        self._hear(workers[news])
        finally:
            self._tell(STOPPING)
            for listener in self._listeners:  # refuses new connections
                listener.close()
            self._end([worker.process for worker in self._workers.values()])

    def _stop(self, number: int, _frame: object) -> None:
        if number == signal.SIGINT or self._is_stopping:
            self._is_in_haste = True
        self._is_stopping = True

    def _end(self, workers: Sequence[SpawnProcess]) -> None:
        """Stop the workers, which drain unless this process is in haste; kill hung workers."""
        for worker in workers:
            worker.terminate()
        deadline = time.monotonic() + STOP_SECONDS + self._settings.drain_seconds
        is_logged = False
        while (alive := [one for one in workers if one.is_alive()]) and time.monotonic() < deadline:
            if self._is_in_haste and not is_logged:
                is_logged = True
                for worker in alive:
                    assert worker.pid is not None
                    os.kill(worker.pid, signal.SIGINT)  # a second signal ends draining
            wait([worker.sentinel for worker in alive], _POLL_SECONDS)
        for worker in workers:
            worker.kill()

    def _hear(self, worker: _Worker) -> None:
        """Receive a worker's notification; notify READY once all workers are ready."""
        assert worker.hearing is not None
        try:
            sign: str = worker.hearing.recv()
        except EOFError:  # the worker exits
            worker.hearing.close()
            worker.hearing = None
            return
        worker.silent_seconds = 0.0
        if sign == READY:
            worker.is_ready = True
            _log.info("worker ready", pid=worker.process.pid)
            self._tell_if_ready()

    def _tell_if_ready(self) -> None:
        workers = self._workers.values()
        if len(workers) == len(self._listeners) and all(one.is_ready for one in workers):
            self._tell(READY)

    def _end_what_hangs(self, seconds: float) -> None:
        """Kill workers that were silent for too long; the last check was `seconds` ago."""
        # A machine that was paused, or too busy for this process, did not run the workers either.
        counted_seconds = min(seconds, _LONGEST_LOOK_SECONDS)
        for worker in self._workers.values():
            if worker.silent_seconds is None:
                continue
            worker.silent_seconds += counted_seconds
            if worker.silent_seconds > HUNG_SECONDS:
                worker.silent_seconds = None
                _log.error("worker hangs; killing it", pid=worker.process.pid)
                worker.process.kill()

    def _tell_of_life(self, now: float) -> None:
        if (
            self._alive_each_seconds is not None
            and now - self._notified_at >= self._alive_each_seconds
        ):
            self._notified_at = now
            self._tell(ALIVE)

    def _bury_the_dead(self) -> None:
        dead = [place for place, one in self._workers.items() if not one.process.is_alive()]
        buried = [(listener, self._workers.pop(listener)) for listener in dead]
        for listener, worker in buried:
            self._send_clients_elsewhere(listener)
            if worker.hearing:
                worker.hearing.close()
            status = worker.process.exitcode
            pid = worker.process.pid
            _log.error("worker died; starting another", pid=pid, status=status)
        if not all(worker.is_ready for _, worker in buried):
            time.sleep(PAUSE_SECONDS)

    def _send_clients_elsewhere(self, listener: Sockets) -> None:
        """Make the kernel pass new connections to other workers, if one of them is ready.

        It resets connections that the dead worker had not accepted, as it did the accepted ones.
        A socket shared by all workers, as from systemd, needs no change: the others accept from it.
        """
        if not self._share_a_socket and any(one.is_ready for one in self._workers.values()):
            with contextlib.suppress(OSError):
                self._listeners[self._listeners.index(listener)] = listener.bound_anew()

    def _start_what_is_missing(self) -> None:
        """Start a worker for each listener without one."""
        for listener in self._listeners:
            if listener in self._workers or self._is_stopping:
                continue
            hearing, telling = multiprocessing.Pipe(duplex=False)
            with telling:
                arguments = (self._settings, listener, self._serve, telling)
                process = _spawn.Process(target=_work, args=arguments)
                try:
                    process.start()
                except OSError as error:  # too many processes or too little memory, temporarily
                    hearing.close()
                    _log.error("cannot start a worker; will retry", reason=str(error))
                    self._send_clients_elsewhere(listener)
                    time.sleep(PAUSE_SECONDS)
                    return
            self._workers[listener] = _Worker(process, hearing)


def _work(
    settings: Settings,
    sockets: Sockets,
    serve: Serve,
    telling: Connection,
) -> None:
    for number in (signal.SIGINT, signal.SIGHUP):  # from a terminal: the parent stops its workers
        signal.signal(number, signal.SIG_IGN)
    configure_logs(settings.log_level, pid=os.getpid())
    os.set_blocking(telling.fileno(), False)  # a hung parent must not block its workers

    def tell(sign: str) -> None:
        with contextlib.suppress(OSError):  # the parent hangs, or is gone and this process exits
            telling.send(sign)

    try:
        uvloop.run(_serve_while_wanted(serve(settings, sockets, tell, None), tell))
    except FeedkeepError as error:
        _log.error("worker failed to start", reason=str(error))
        sys.exit(1)


async def _serve_while_wanted(serving: Coroutine[None, None, None], tell: Tell) -> None:
    """Serve, and send ALIVE, until stopped or until the parent is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    loop = asyncio.get_running_loop()
    loop.add_reader(parent.sentinel, _stop_for_want_of_a_parent, loop, parent.sentinel)
    living = loop.create_task(tell_of_life(tell, PULSE_SECONDS))
    await serving
    living.cancel()


def _stop_for_want_of_a_parent(loop: asyncio.AbstractEventLoop, sentinel: int) -> None:
    loop.remove_reader(sentinel)
    for number in (signal.SIGINT, signal.SIGTERM):  # two skip draining: a successor needs the port
        os.kill(os.getpid(), number)
