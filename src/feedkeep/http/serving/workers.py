"""Several processes that serve one address: started, watched, replaced if they die, stopped."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import TypeAlias

import structlog
import uvloop

from feedkeep.errors import FeedkeepError
from feedkeep.http.serving.listening import Sockets
from feedkeep.logs import configure_logs
from feedkeep.settings import Settings

Serve: TypeAlias = Callable[[Settings, Sockets], Coroutine[None, None, None]]
"""What a worker runs until it is told to stop. A function of a module: others cannot be pickled."""

PAUSE_SECONDS = 1.0
"""How long after a worker's end the next one starts, in case workers cannot start at all."""

STOP_SECONDS = 12.0
"""How long workers may take to stop before they are killed; they take a little less."""

_POLL_SECONDS = 0.2

_log: structlog.stdlib.BoundLogger = structlog.get_logger()
_spawn = multiprocessing.get_context("spawn")


class Workers:
    """Runs a process for each place to listen."""

    def __init__(self, settings: Settings, listeners: list[Sockets], serve: Serve) -> None:
        self._settings = settings
        self._serve = serve
        self._listeners = listeners
        self._workers: dict[Sockets, SpawnProcess] = {}
        self._is_stopping = False

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; the workers stop too if this process dies."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        try:
            while not self._is_stopping:
                self._bury_the_dead()
                self._start_what_is_missing()
                wait([worker.sentinel for worker in self._workers.values()], _POLL_SECONDS)
        finally:
            for listener in self._listeners:  # new connections are refused from now on
                listener.close()
            _end(list(self._workers.values()))

    def _stop(self, *_: object) -> None:
        self._is_stopping = True

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
            arguments = (self._settings, listener, self._serve)
            worker = _spawn.Process(target=_work, args=arguments)
            try:
                worker.start()
            except OSError as error:  # too many processes, or too little memory, for now
                _log.error("a worker cannot be started", reason=str(error))
                time.sleep(PAUSE_SECONDS)
                return
            self._workers[listener] = worker


def _end(workers: list[SpawnProcess]) -> None:
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for worker in workers:
        worker.join(max(0, deadline - time.monotonic()))
        worker.kill()


def _work(settings: Settings, sockets: Sockets, serve: Serve) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # at Ctrl-C, the parent tells its workers to stop
    configure_logs(settings.log_level)
    try:
        uvloop.run(_serve_while_wanted(serve(settings, sockets)))
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
    os.kill(os.getpid(), signal.SIGTERM)
