"""Several processes that serve one socket: started, watched, replaced if they die, and stopped."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import TypeAlias

import structlog
import uvloop

from feedkeep.errors import FeedkeepError
from feedkeep.logs import configure_logs
from feedkeep.settings import Settings

Serve: TypeAlias = Callable[[Settings, socket.socket], Coroutine[None, None, None]]
"""What a worker does until it is told to stop; a function of a module, so that it has a name."""

PAUSE_SECONDS = 1.0
"""How long after a worker's end the next one starts: a worker that cannot start costs little."""

STOP_SECONDS = 12.0
"""How long workers may take to stop before they are killed; they need a little less."""

_POLL_SECONDS = 0.2

_log: structlog.stdlib.BoundLogger = structlog.get_logger()
_spawn = multiprocessing.get_context("spawn")


class Workers:
    """As many processes as the settings say."""

    def __init__(self, settings: Settings, listener: socket.socket, serve: Serve) -> None:
        self._arguments = (settings, listener, serve)
        self._count = settings.workers
        self._is_stopping = False

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; the workers stop too if this process dies."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        workers: list[SpawnProcess] = []
        try:
            while not self._is_stopping:
                workers = self._alive(workers)
                if len(workers) < self._count:
                    workers += self._start(self._count - len(workers))
                wait([worker.sentinel for worker in workers], _POLL_SECONDS)
        finally:
            _end(workers)

    def _stop(self, *_: object) -> None:
        self._is_stopping = True

    def _alive(self, workers: list[SpawnProcess]) -> list[SpawnProcess]:
        dead = [worker for worker in workers if not worker.is_alive()]
        for worker in dead:
            _log.error("a worker died; another one takes its place", status=worker.exitcode)
        if dead:
            time.sleep(PAUSE_SECONDS)
        return [worker for worker in workers if worker not in dead]

    def _start(self, count: int) -> list[SpawnProcess]:
        started = []
        for _ in range(0 if self._is_stopping else count):
            worker = _spawn.Process(target=_work, args=self._arguments)
            try:
                worker.start()
            except OSError as error:  # too many processes, or too little memory, for now
                _log.error("a worker cannot be started", reason=str(error))
                time.sleep(PAUSE_SECONDS)
                break
            started.append(worker)
        return started


def _end(workers: list[SpawnProcess]) -> None:
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for worker in workers:
        worker.join(max(0, deadline - time.monotonic()))
        worker.kill()


def _work(settings: Settings, listener: socket.socket, serve: Serve) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # while starting, Ctrl-C is the parent's to tell
    configure_logs(settings.log_level)
    try:
        uvloop.run(_serve_while_wanted(serve(settings, listener)))
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
