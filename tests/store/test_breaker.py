"""The circuit breaker: which answers to a probe show that a server is silent."""

import asyncio

import asyncpg
import pytest

from feedkeep.model.errors import StoreUnavailable
from feedkeep.store.postgres import breaker as module
from feedkeep.store.postgres.breaker import Breaker


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(module, "SUSPECT_SECONDS", 0)
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)


async def test_server_that_nothing_answers_for_is_silent_until_a_probe_succeeds():
    answers = asyncio.Queue()

    async def probe():
        if error := await answers.get():
            raise error

    async def wait():
        async with breaker.use():
            await asyncio.Event().wait()

    breaker = Breaker(probe)
    waiting = [asyncio.create_task(wait()) for _ in range(3)]
    answers.put_nowait(ConnectionRefusedError())
    cut = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(error) for error in cut] == [StoreUnavailable] * 3
    entered = False
    with pytest.raises(StoreUnavailable, match="does not answer"):
        async with breaker.use():
            entered = True
    assert not entered
    answers.put_nowait(None)
    await breaker._probing
    async with breaker.use():
        pass
    await breaker.close()


async def test_server_that_refuses_a_probe_is_not_silent_and_a_closed_breaker_does_not_probe():
    async def probe():
        raise asyncpg.TooManyConnectionsError

    breaker = Breaker(probe)
    async with breaker.use():
        breaker._suspect()
        await breaker._probing
    async with breaker.use():
        pass
    breaker = Breaker(asyncio.Event().wait)
    async with breaker.use():
        breaker._suspect()
    await breaker.close()
    assert breaker._probing.done()
