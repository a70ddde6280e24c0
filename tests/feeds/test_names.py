"""Looking up names: as the machine does, and without waiting for a resolver that is silent."""

import asyncio
import socket
import threading

import pytest

from feedkeep.outbound.client import GuardedClient
from feedkeep.outbound.failures import Exhausted, RequestRefused
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.outbound.targets import SystemNames


async def test_name_has_the_addresses_that_the_machine_finds_each_once(monkeypatch):
    assert "127.0.0.1" in await SystemNames(1).look_up("localhost")
    async with GuardedClient(ClientPolicy()) as client:
        with pytest.raises(RequestRefused, match="not on the public internet"):
            await client.get("http://localhost/")
    asked = []

    def resolver(host, *_, **__):
        asked.append(host)
        return [(0, 0, 0, "", (address, 0)) for address in ("::1", "127.0.0.1", "::1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    assert list(await SystemNames(1).look_up("xn--bcher-kva.example")) == ["::1", "127.0.0.1"]
    assert asked == [b"xn--bcher-kva.example"]


async def test_what_the_resolver_says_is_told(monkeypatch):
    def resolver(*_, **__):
        raise socket.gaierror(socket.EAI_AGAIN, "later")

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    with pytest.raises(socket.gaierror) as raised:
        await SystemNames(1).look_up("a.example")
    assert raised.value.errno == socket.EAI_AGAIN


async def test_where_the_system_has_no_thread_to_give_a_name_is_looked_up_later(monkeypatch):
    def no_thread(_):
        raise RuntimeError("can't start new thread")

    system = SystemNames(1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(Exhausted):
            await system.look_up("localhost")
    assert "127.0.0.1" in await system.look_up("localhost")


@pytest.fixture
def asked(monkeypatch):
    """Counts the names that a resolver is asked, which answers when the test is over."""
    is_over, asked = threading.Event(), threading.Semaphore(0)

    def resolver(*_, **__):
        asked.release()
        is_over.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    before = set(threading.enumerate())
    yield asked
    is_over.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()


def test_silent_resolver_is_asked_so_many_names_at_a_time_and_who_gives_up_waits_no_longer(asked):
    async def give_up():
        system = SystemNames(2)
        tasks = [asyncio.create_task(system.look_up("a.example")) for _ in range(3)]
        for _ in range(2):
            await asyncio.to_thread(asked.acquire)
        assert system._free.locked()
        assert not asked.acquire(blocking=False)
        for task in tasks:
            task.cancel()
        given_up = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in given_up] == [asyncio.CancelledError] * 3

    asyncio.run(give_up())  # the end of the loop waits for no look-up either
