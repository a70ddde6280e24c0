"""Several processes that serve one address: started, watched, replaced if they die, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TypeAlias

import structlog
import uvloop

from feedkeep.errors import FeedkeepError
from feedkeep.http.serving.listening import Sockets
from feedkeep.logs import configure_logs
from feedkeep.notify import ALIVE, READY, STOPPING
from feedkeep.settings import Settings

Tell: TypeAlias = Callable[[str], None]
"""Takes a sign of a process that serves (`feedkeep.notify`)."""

Serve: TypeAlias = Callable[[Settings, Sockets, Tell, float | None], Coroutine[None, None, None]]
"""What a worker runs until it is told to stop. A function of a module: others cannot be pickled.

It gives its signs, and each so many seconds that it is alive.
"""

PAUSE_SECONDS = 1.0
"""How long after a worker's end the next one starts, in case workers cannot start at all."""

STOP_SECONDS = 12.0
"""How long workers may take to stop before they are killed, besides the time in which they drain.

They take a little less.
"""

_POLL_SECONDS = 0.2

_log: structlog.stdlib.BoundLogger = structlog.get_logger()
_spawn = multiprocessing.get_context("spawn")


class Workers:
    """Runs a process for each place to listen, and gives the signs of all of them as one."""

    def __init__(
        self,
        settings: Settings,
        listeners: list[Sockets],
        serve: Serve,
        tell: Tell,
        alive_each_seconds: float | None,
    ) -> None:
        """Give signs by `tell`: of life, as often as each worker has given one."""
        self._settings = settings
        self._serve = serve
        self._listeners = listeners
        self._tell = tell
        self._alive_each_seconds = alive_each_seconds
        self._workers: dict[Sockets, SpawnProcess] = {}
        self._hearing: dict[Connection, Sockets] = {}
        self._heard: dict[str, set[Sockets]] = {READY: set(), ALIVE: set()}
        self._is_stopping = False
        self._is_in_haste = False

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; the workers stop too if this process dies."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        try:
            while not self._is_stopping:
                self._bury_the_dead()
                self._start_what_is_missing()
                sentinels = [worker.sentinel for worker in self._workers.values()]
                for news in wait([*sentinels, *self._hearing], _POLL_SECONDS):
                    if news in self._hearing:
                        self._hear(news)
        finally:
            self._tell(STOPPING)
            for listener in self._listeners:  # new connections are refused from now on
                listener.close()
            self._end(list(self._workers.values()))

    def _stop(self, number: int, _frame: object) -> None:
        if number == signal.SIGINT or self._is_stopping:
            self._is_in_haste = True
        self._is_stopping = True

    def _end(self, workers: Sequence[SpawnProcess]) -> None:
        """Stop the workers, which drain unless this one is in haste; kill those that hang."""
        for worker in workers:
            worker.terminate()
        deadline = time.monotonic() + STOP_SECONDS + self._settings.drain_seconds
        is_told = False
        while (alive := [one for one in workers if one.is_alive()]) and time.monotonic() < deadline:
            if self._is_in_haste and not is_told:
                is_told = True
                for worker in alive:
                    assert worker.pid is not None
                    os.kill(worker.pid, signal.SIGINT)  # a second signal: they drain no longer
            wait([worker.sentinel for worker in alive], _POLL_SECONDS)
        for worker in workers:
            worker.kill()

    def _hear(self, worker: Connection) -> None:
        """Take a sign of a worker; pass it on if all have given it since it was passed on last."""
        try:
            sign: str = worker.recv()
        except EOFError:
            listener = self._hearing.pop(worker)
            worker.close()
            for heard in self._heard.values():
                heard.discard(listener)  # what takes its place has to speak for itself
            return
        heard = self._heard.get(sign, set())  # that one stops, it tells nobody
        heard.add(self._hearing[worker])
        if len(heard) == len(self._listeners):
            self._tell(sign)
            heard.clear()

    def _bury_the_dead(self) -> None:
        dead = [listener for listener, worker in self._workers.items() if not worker.is_alive()]
        for listener in dead:
            status = self._workers.pop(listener).exitcode
            _log.error("a worker died; another one takes its place", status=status)
        if dead:
            time.sleep(PAUSE_SECONDS)

    def _start_what_is_missing(self) -> None:
        """Start a worker for each place that has none; its connections wait until then."""
        for listener in self._listeners:
            if listener in self._workers or self._is_stopping:
                continue
            hearing, telling = multiprocessing.Pipe(duplex=False)
            with telling:
                told = (telling, self._alive_each_seconds)
                arguments = (self._settings, listener, self._serve, *told)
                worker = _spawn.Process(target=_work, args=arguments)
                try:
                    worker.start()
                except OSError as error:  # too many processes, or too little memory, for now
                    hearing.close()
                    _log.error("a worker cannot be started", reason=str(error))
                    time.sleep(PAUSE_SECONDS)
                    return
            self._workers[listener] = worker
            self._hearing[hearing] = listener


def _work(
    settings: Settings,
    sockets: Sockets,
    serve: Serve,
    telling: Connection,
    alive_each_seconds: float | None,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # at Ctrl-C, the parent tells its workers to stop
    configure_logs(settings.log_level)

    def tell(sign: str) -> None:
        with contextlib.suppress(OSError):  # the parent is gone, and this process about to follow
            telling.send(sign)

    try:
        serving = serve(settings, sockets, tell, alive_each_seconds)
        uvloop.run(_serve_while_wanted(serving))
    except FeedkeepError as error:
        _log.error("a worker cannot start", reason=str(error))
        sys.exit(1)


async def _serve_while_wanted(serving: Coroutine[None, None, None]) -> None:
    """Serve until told to stop, or until the parent is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    loop = asyncio.get_running_loop()
    loop.add_reader(parent.sentinel, _stop_for_want_of_a_parent, loop, parent.sentinel)
    await serving


def _stop_for_want_of_a_parent(loop: asyncio.AbstractEventLoop, sentinel: int) -> None:
    loop.remove_reader(sentinel)
    for number in (signal.SIGINT, signal.SIGTERM):  # two: whoever takes its place wants the port
        os.kill(os.getpid(), number)
