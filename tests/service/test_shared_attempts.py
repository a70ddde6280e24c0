"""Wrong passwords are counted together, whichever process they come to."""

import asyncio
import contextlib
import time
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import structlog
from recorded import COMMITS, recorded
from running import HOME, MINUTE, PASSWORD, Clock
from stores import service_on

from feedkeep.model import Stamp
from feedkeep.model.errors import NotAuthorized, StoreUnavailable, TooManyAttempts
from feedkeep.rules.credentials import PasswordCredential
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.security.throttle import KEPT_SECONDS, PER_ACCOUNT_AND_ADDRESS
from feedkeep.service import shared_attempts
from feedkeep.store.sqlite import SqliteStore

HOUR = 60 * MINUTE


@asynccontextmanager
async def serving(open_store, clock):
    """Give the service of a process; it is closed as that of a process is."""
    async with open_store(clock) as store:
        service = service_on(store, clock)
        try:
            yield service
        finally:
            await service.shared_attempts.close()
            await service._last_uses.close()
            service._passwords.close()


async def wait_for_word(service, password, name="Bob", address=HOME):
    """Try a password; return how long an attempt has to wait, None if one was looked at."""
    try:
        await service.authentication.admit(PasswordCredential(name, password), address)
    except NotAuthorized:
        return None
    except TooManyAttempts as wait:
        return wait.retry_after_seconds
    raise AssertionError("the password was right")


async def looked_at(service, most):
    """Return the number of wrong passwords that were checked before one had to wait."""
    for number in range(most):
        if await wait_for_word(service, f"wrong{number}{time.monotonic()}") is not None:
            return number
    return most


@pytest.fixture
def clock():
    return wall_clock.now


async def rows(service):
    return (await service.store.attempts.saved_since(Stamp(0), 99))[1]


async def test_four_processes_let_as_many_attempts_through_as_one(open_store):
    clock = Clock()
    async with AsyncExitStack() as stack:
        every = [await stack.enter_async_context(serving(open_store, clock)) for _ in range(4)]
        await every[0].accounts.create("Bob", PASSWORD)
        let = 0
        for number in range(40):
            let += await wait_for_word(every[number % 4], f"wrong{number}") is None
            for service in every:
                await service.shared_attempts.exchange()
        assert let == PER_ACCOUNT_AND_ADDRESS
        for service in every:
            assert await wait_for_word(service, "wrong") is not None


# C2.19
async def test_what_they_let_through_before_they_knew_is_waited_for(open_store):
    clock = Clock()
    async with serving(open_store, clock) as one, serving(open_store, clock) as other:
        assert await looked_at(one, 20) == await looked_at(other, 20) == 10
        for service in (one, other, one):
            await service.shared_attempts.exchange()
        for service in (one, other):
            assert 590 <= await wait_for_word(service, "wrong") <= 600


# C2.18
async def test_a_restart_forgets_nothing_that_was_counted(open_store):
    clock = Clock()
    async with serving(open_store, clock) as service:
        await service.shared_attempts.start()
        assert await looked_at(service, 20) == 10
    clock.go_on(2 * MINUTE)
    async with serving(open_store, clock) as service:
        await service.shared_attempts.start()
        assert 170 <= await wait_for_word(service, "wrong") <= 180


# C2.18
async def test_others_learn_it_without_being_asked(open_store, monkeypatch):
    monkeypatch.setattr(shared_attempts, "_SECONDS_BETWEEN_EXCHANGES", 0.1)
    now = wall_clock.now
    async with serving(open_store, now) as one, serving(open_store, now) as other:
        await one.shared_attempts.start()
        await other.shared_attempts.start()
        monkeypatch.setattr(shared_attempts, "_SECONDS_WHEN_QUIET", 0.3)
        assert await looked_at(one, 20) == 10
        known = other._throttle._others
        deadline = time.monotonic() + 30
        while not any(sum(map(len, of_key.values())) == 10 for of_key in known.values()):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        assert await wait_for_word(other, "wrong") is not None


async def test_a_clock_that_is_ahead_holds_no_attempt_up_for_longer(open_store):
    ahead, clock = Clock(), Clock()
    ahead.go_on(24 * HOUR)
    async with serving(open_store, ahead) as one, serving(open_store, clock) as other:
        assert await looked_at(one, 20) == 10
        await one.shared_attempts.exchange()
        await other.shared_attempts.exchange()
        assert 290 <= await wait_for_word(other, "wrong") <= 300


async def test_right_passwords_and_idle_processes_write_nothing(path):
    recorder = Recorder()
    store = await SqliteStore.open(path, wall_clock.now, recorder=recorder)
    service = service_on(store, wall_clock.now)
    await service.accounts.create("Bob", PASSWORD)
    before = recorded(recorder, COMMITS)
    for _ in range(3):
        await service.authentication.admit(PasswordCredential("Bob", PASSWORD), HOME)
        await service.shared_attempts.exchange()
    assert recorded(recorder, COMMITS) == before
    assert await wait_for_word(service, "wrong") is None
    for _ in range(2):
        await service.shared_attempts.exchange()
    assert recorded(recorder, COMMITS) == before + 1
    await service.close()


async def test_a_number_of_rows_is_written_at_once(service, monkeypatch):
    monkeypatch.setattr(shared_attempts, "WRITTEN_AT_ONCE", 4)
    for number in range(3):
        await wait_for_word(service, "wrong", f"user{number}", f"192.0.2.{number}")
    for count in (4, 8, 9, 9):
        await service.shared_attempts.exchange()
        assert len(await rows(service)) == count


async def test_old_rows_are_forgotten_as_fast_as_new_ones_come(service, monkeypatch):
    monkeypatch.setattr(shared_attempts, "FORGOTTEN_AT_ONCE", 6)
    monkeypatch.setattr(shared_attempts, "MAX_KEYS", 12)
    for number in range(20):
        await wait_for_word(service, "wrong", f"user{number}", f"192.0.2.{number}")
        await service.shared_attempts.exchange()
        assert len(await rows(service)) <= 12 + 6


async def test_after_an_hour_and_a_minute_nothing_is_stored(service, monkeypatch):
    assert KEPT_SECONDS == 3_600
    await wait_for_word(service, "wrong")
    await service.shared_attempts.exchange()
    assert len(await rows(service)) == 3
    monkeypatch.setattr(shared_attempts, "KEPT_SECONDS", 0)
    minute_later = time.monotonic() + 61
    monkeypatch.setattr(shared_attempts.time, "monotonic", lambda: minute_later)
    await service.shared_attempts.exchange()
    assert await rows(service) == []


@pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)
async def test_attempts_during_an_outage_are_written_after_it(path, service):
    for number in range(3):
        assert await wait_for_word(service, f"wrong{number}") is None
    away = path.with_name("away.db")
    await asyncio.to_thread(path.rename, away)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            await service.shared_attempts._exchange()
    assert [line["log_level"] for line in logs] == ["warning"]
    assert service._throttle.has_unshared.is_set()
    await asyncio.to_thread(away.rename, path)
    deadline = time.monotonic() + 30
    while service._throttle.has_unshared.is_set():  # where files are is looked at now and then
        assert time.monotonic() < deadline
        with contextlib.suppress(StoreUnavailable):
            await service.shared_attempts.exchange()
    assert [len(one.seconds) for one in await rows(service)] == [3] * 3
