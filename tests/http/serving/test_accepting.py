"""Making room for new connections: one that is cut while coming in leaves nothing behind."""

import asyncio
import socket
from contextlib import ExitStack, closing
from typing import Any

import uvloop
from starlette.responses import PlainTextResponse

from feedkeep.http import backpressure
from feedkeep.http.serving.server import METRICS_CONNECTIONS, serving_metrics


async def get(listener: socket.socket) -> bytes:
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    reply = await asyncio.wait_for(reader.read(), timeout=20)
    writer.close()
    return reply


def test_who_is_cut_just_after_coming_in_keeps_no_slot():
    """uvloop does not tell a protocol that its transport is closed if the task is cancelled."""
    wrong: list[dict[str, Any]] = []

    async def go():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
        with ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            async with (
                asyncio.timeout(60),  # the end, too, waits for all that has a place
                serving_metrics(PlainTextResponse("well"), listener),
            ):
                await get(listener)
                for number in range(20):
                    for _ in range(METRICS_CONNECTIONS):
                        held = socket.create_connection(listener.getsockname(), timeout=20)
                        stack.enter_context(closing(held))
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
        with ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            async with asyncio.timeout(60), serving_metrics(app, listener):
                reader, writer = await asyncio.open_connection(*listener.getsockname())
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT")
                await begun.wait()
                for _ in range(2 * METRICS_CONNECTIONS):
                    held = socket.create_connection(listener.getsockname(), timeout=20)
                    stack.enter_context(closing(held))
                    await asyncio.sleep(0.01)
                goes_on.set()
                reply = await reader.read(65_536)
                writer.close()
                return reply

    assert uvloop.run(go()).endswith(b"well")
