"""Watching workers: what the running service cannot show, since it needs a machine in distress."""

import multiprocessing
import signal
import socket
from unittest import mock

import pytest

from feedkeep.cli import workers
from feedkeep.config.settings import Settings
from feedkeep.http.serving import Sockets
from feedkeep.runtime.notify import READY
from feedkeep.runtime.tasks import stop_signals


@pytest.fixture(autouse=True)
def signals():
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def run_two_workers() -> None:
    with socket.socket() as listener:
        workers.Workers(Settings(workers=2), [Sockets(listener)], None, lambda _: None, None).run()


def test_workers_that_cannot_be_started_are_tried_again_until_a_stop(monkeypatch):
    unstartable = mock.Mock()

    def start():
        if unstartable.call_count == 3:
            signal.raise_signal(signal.SIGTERM)
        raise BlockingIOError("Resource temporarily unavailable")

    unstartable.return_value.start = start
    monkeypatch.setattr(workers, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(workers._spawn, "Process", unstartable)
    run_two_workers()
    assert unstartable.call_count == 3


def test_successor_of_a_worker_that_was_ready_starts_without_a_pause(monkeypatch):
    started = []

    class ReadyThenDead:
        pid, exitcode = 1, -signal.SIGKILL

        def __init__(self, *, args, **_):
            self._telling = args[3]
            self._lives, held = multiprocessing.Pipe(duplex=False)
            held.close()
            self.sentinel = self._lives.fileno()

        def start(self):
            started.append(self.pid)
            self._telling.send(READY)
            if len(started) == 2:
                signal.raise_signal(signal.SIGTERM)

        is_alive = kill = terminate = mock.Mock(return_value=False)

    monkeypatch.setattr(workers.time, "sleep", None)  # its clients would wait meanwhile
    monkeypatch.setattr(workers._spawn, "Process", ReadyThenDead)
    run_two_workers()
    assert len(started) == 2


def test_a_hangup_that_is_ignored_already_as_under_nohup_stops_nothing():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signal.SIGHUP not in stop_signals()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert signal.SIGHUP in stop_signals()
