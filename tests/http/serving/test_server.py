"""The server in this process: its places for connections, its signals, and its ports of metrics."""

import asyncio
import contextlib
import signal
import socket
from contextlib import ExitStack, closing

import pytest
import uvloop
from starlette.responses import PlainTextResponse

from feedkeep.config.settings import Settings
from feedkeep.http import backpressure
from feedkeep.http.serving import listen_for_metrics, run
from feedkeep.http.serving.listening import CannotListen
from feedkeep.http.serving.server import METRICS_CONNECTIONS, Server, serving_metrics

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


@contextlib.asynccontextmanager
async def served(app):
    """Serve on a free port; yield its listener, and what holds a connection to it until the end."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def hold():
            stack.enter_context(
                closing(socket.create_connection(listener.getsockname(), timeout=20))
            )

        # The end, too, waits for all that has a place.
        async with asyncio.timeout(60), serving_metrics(app, listener):
            yield listener, hold


async def get(listener: socket.socket) -> bytes:
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(HEAD + b"Connection: close\r\n\r\n")
    reply = await asyncio.wait_for(reader.read(), timeout=20)
    writer.close()
    return reply


def test_who_is_cut_just_after_coming_in_keeps_no_slot():
    """uvloop does not tell a protocol that its transport is closed if the task is cancelled."""
    wrong = []

    async def go():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
        async with served(PlainTextResponse("well")) as (listener, hold):
            await get(listener)
            for number in range(20):
                for _ in range(METRICS_CONNECTIONS):
                    hold()
                for _ in range(number % 5):  # the others come at each step of their coming in
                    await asyncio.sleep(0)
            return await get(listener)

    loop = uvloop.new_event_loop()
    assert loop.run_until_complete(go()).endswith(b"well")
    assert wrong == []
    loop.close()  # with such transports it would never end, so only now


def test_who_waits_for_a_reply_is_not_cut_for_what_it_sent_ahead(monkeypatch):
    monkeypatch.setattr(backpressure, "SLOW_SECONDS", -1.0)
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        begun.set()
        await goes_on.wait()
        await PlainTextResponse("well")(scope, receive, send)

    async def go():
        async with served(app) as (listener, hold):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(HEAD + b"\r\nGET / HT")
            await begun.wait()
            for _ in range(2 * METRICS_CONNECTIONS):
                hold()
                await asyncio.sleep(0.01)
            goes_on.set()
            reply = await reader.read(65_536)
            writer.close()
            return reply

    assert uvloop.run(go()).endswith(b"well")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signal_just_before_the_server_begins_stops_it(number, monkeypatch):
    serve = Server.serve

    async def serve_after_a_signal(server, signs=None):
        signal.raise_signal(number)
        await serve(server, signs)

    async def go():
        async with asyncio.timeout(20):  # far longer than a server takes that has nothing to do
            await run(None, listener, Settings())

    monkeypatch.setattr(Server, "serve", serve_after_a_signal)
    before = signal.getsignal(number)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asyncio.run(go())
    assert signal.getsignal(number) == before


def ports_from(first: int, processes: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [s for s in listen_for_metrics(Settings(metrics_port=first), processes) if s]
        return [stack.enter_context(one).getsockname()[1] for one in sockets]


def test_each_process_has_the_next_port_of_metrics_or_a_free_one_or_none_without_the_setting():
    assert listen_for_metrics(Settings(), 3) == [None, None, None]
    assert len(set(ports_from(0, 3)) - {0}) == 3
    for host in ("192.0.2.1", "nowhere.invalid", "a" * 70):  # not of this machine
        with pytest.raises(CannotListen, match=f"Cannot listen on {host} port 0"):
            listen_for_metrics(Settings(metrics_host=host, metrics_port=0), 1)
    for _ in range(50):  # until three in a row are free
        with socket.create_server(("127.0.0.1", 0)) as free:
            first = free.getsockname()[1]
        with contextlib.suppress(CannotListen, ValueError, OverflowError):
            assert ports_from(first, 3) == [first, first + 1, first + 2]
            return
    pytest.fail("no three ports in a row are free")
