"""Signals that come while a server begins."""

import asyncio
import signal
import socket
from typing import Any

import pytest

from feedkeep.config.settings import Settings
from feedkeep.http.serving import run
from feedkeep.http.serving.server import Server

PATIENCE_SECONDS = 20.0
"""Far longer than a server takes that has nothing to do; one that goes on ends with an error."""


async def answer_nothing(*_: Any) -> None:
    raise AssertionError


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_just_before_the_server_begins_stops_it(number, monkeypatch):
    serve = Server.serve

    async def serve_after_a_signal(server, signs=None):
        signal.raise_signal(number)
        await serve(server, signs)

    async def go():
        async with asyncio.timeout(PATIENCE_SECONDS):
            await run(answer_nothing, listener, Settings())

    monkeypatch.setattr(Server, "serve", serve_after_a_signal)
    before = signal.getsignal(number)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asyncio.run(go())
    assert signal.getsignal(number) == before
