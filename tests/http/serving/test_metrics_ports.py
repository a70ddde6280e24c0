"""The ports of metrics: none unless one is wanted, then one for each process."""

import contextlib
import socket

import pytest

from feedkeep.config.settings import Settings
from feedkeep.http.serving import listen_for_metrics
from feedkeep.http.serving.listening import CannotListen

TRIES = 50


def ports_from(first: int, processes: int) -> list[int]:
    settings = Settings(metrics_port=first)
    with contextlib.ExitStack() as stack:
        sockets = [s for s in listen_for_metrics(settings, processes) if s]
        return [stack.enter_context(one).getsockname()[1] for one in sockets]


def test_without_the_setting_nothing_listens():
    assert listen_for_metrics(Settings(), 3) == [None, None, None]


def test_each_process_has_the_next_port():
    for _ in range(TRIES):  # until three in a row are free
        with socket.create_server(("127.0.0.1", 0)) as free:
            first = free.getsockname()[1]
        with contextlib.suppress(CannotListen, ValueError, OverflowError):
            assert ports_from(first, 3) == [first, first + 1, first + 2]
            return
    pytest.fail("no three ports in a row are free")


def test_0_takes_free_ones():
    assert len(set(ports_from(0, 3)) - {0}) == 3


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid", "a" * 70])
def test_an_address_that_is_not_this_machines_is_told(host):
    with pytest.raises(CannotListen, match=f"Cannot listen on {host} port 0"):
        listen_for_metrics(Settings(metrics_host=host, metrics_port=0), 1)
