"""Passwords: one computation for each check, shared by those who show the same, in fair turns."""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from argon2.exceptions import InvalidHashError

from feedkeep.model.errors import TooManyAttempts
from feedkeep.security import address_queue, argon2id, passwords
from feedkeep.security.passwords import Passwords, hashed_at_once
from feedkeep.security.throttle import PER_ACCOUNT_AND_ADDRESS, PER_ADDRESS, Throttle

HOME = "192.0.2.1"


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """What is looked at here is how often something is computed, not what it costs."""
    monkeypatch.setattr(argon2id, "OURS", argon2id.Cost(8, 1, 1))


@pytest.fixture
def computed(monkeypatch):
    """The passwords that were compared, one for each computation."""
    compared: list[str] = []
    matches = argon2id.matches

    def counted(stored_hash, password):
        compared.append(password)
        return matches(stored_hash, password)

    monkeypatch.setattr(argon2id, "matches", counted)
    return compared


@pytest.fixture
async def checked():
    checked = Passwords(Throttle())
    try:
        yield checked
    finally:
        checked.close()


def run(work: Callable[[Passwords], Awaitable[None]]) -> None:
    async def go() -> None:
        checked = Passwords(Throttle())
        try:
            await work(checked)
        finally:
            checked.close()

    asyncio.run(go())


def counted(checked: Passwords) -> int:
    """Return for how many names and addresses an attempt is counted."""
    return len(checked._throttle._attempts)


async def verify(
    checked: Passwords, name: str, password: str, stored_hash: str | None, address: str = HOME
) -> bool:
    return await checked.verify(name, password, stored_hash, name, address)


async def test_every_check_computes_exactly_once_for_any_name(computed, checked):
    hashed = await checked.hash("right")
    assert await verify(checked, "me", "right", hashed)
    assert counted(checked) == 0
    assert not await verify(checked, "me", "wrong", hashed)
    assert not await verify(checked, "stranger", "right", None)
    assert computed == ["right", "wrong", "right"]
    assert counted(checked) == 2 + 2 + 1


async def test_a_fault_of_the_server_is_not_reported_as_a_wrong_password(checked):
    with pytest.raises(InvalidHashError):
        await verify(checked, "me", "right", "a damaged hash")
    assert checked._checking == {}
    assert not checked._throttle._checking  # otherwise some would wait for it for ever


# C2.9
async def test_a_right_password_is_remembered_while_the_stored_hash_stays(checked):
    hashed = await checked.hash("right")
    assert not checked.remembers("me", "right", hashed)
    await verify(checked, "me", "right", hashed)
    await verify(checked, "me", "wrong", hashed)
    assert checked.remembers("me", "right", hashed)
    assert not checked.remembers("me", "wrong", hashed)
    assert not checked.remembers("you", "right", hashed)
    assert not checked.remembers("me", "right", "another hash")
    assert not checked.remembers("me", "right", None)
    checked.remember("me", "right", "another hash")
    assert checked.remembers("me", "right", "another hash")


# C2.20
async def test_the_same_password_shown_at_once_is_checked_once_and_counts_once(computed, checked):
    hashed = await checked.hash("right")
    shown = [verify(checked, "me", "right", hashed) for _ in range(30)]
    assert await asyncio.gather(*shown) == [True] * 30
    assert computed == ["right"]


async def test_a_caller_that_goes_away_does_not_take_the_check_from_the_others(checked):
    hashed = await checked.hash("right")
    first, second = (
        asyncio.ensure_future(verify(checked, "me", "right", hashed)) for _ in range(2)
    )
    await asyncio.sleep(0)
    first.cancel()
    assert await second


async def test_right_passwords_wait_in_place_of_a_refusal_however_many_there_are(
    monkeypatch, checked
):
    monkeypatch.setattr(passwords, "hashed_at_once", lambda *_: 3)
    hashed = await checked.hash("right")
    people = [verify(checked, f"user{n}", "right", hashed) for n in range(4 * PER_ADDRESS)]
    assert all(await asyncio.gather(*people))
    assert counted(checked) == 0


# C2.22
@pytest.mark.parametrize("at_once", [1, 4, 16])
async def test_of_wrong_passwords_only_as_many_are_computed_as_may_be_tried_however_many_come_at_once(
    at_once, computed, monkeypatch, checked
):
    monkeypatch.setattr(passwords, "hashed_at_once", lambda *_: at_once)
    hashed = await checked.hash("right")
    tried = [verify(checked, "me", f"wrong{number}", hashed) for number in range(60)]
    found = await asyncio.gather(*tried, return_exceptions=True)
    assert sum(one is False for one in found) == PER_ACCOUNT_AND_ADDRESS == len(computed)
    assert sum(isinstance(one, TooManyAttempts) for one in found) == 50
    with pytest.raises(TooManyAttempts):  # at once: nothing waits any longer
        await verify(checked, "me", "right", hashed)


# C2.22
async def test_who_finds_the_last_attempts_under_way_waits_and_is_let_in_if_one_was_right(
    monkeypatch, checked
):
    monkeypatch.setattr(passwords, "hashed_at_once", lambda *_: 2)
    may_end = threading.Event()
    matches = argon2id.matches

    def held(stored_hash, password):
        assert password == "another right one" or may_end.wait(60)
        return matches(stored_hash, password)

    hashed, other = [await checked.hash(one) for one in ("right", "another right one")]
    for number in range(PER_ACCOUNT_AND_ADDRESS - 1):
        assert not await verify(checked, "me", f"wrong{number}", hashed)
    monkeypatch.setattr(argon2id, "matches", held)
    first = asyncio.ensure_future(verify(checked, "me", "right", hashed))
    await asyncio.sleep(0.0)
    second = asyncio.ensure_future(verify(checked, "me", "another right one", other))
    # Meanwhile others have their turn: what waits for the first one holds none.
    assert await verify(checked, "you", "another right one", other)
    assert not second.done()
    may_end.set()
    assert await first
    assert await second


async def test_beyond_a_limit_no_password_waits(monkeypatch, checked):
    monkeypatch.setattr(address_queue, "MAX_WAITING", 3)
    monkeypatch.setattr(passwords, "hashed_at_once", lambda *_: 1)
    hashed = await checked.hash("x")
    shown = [verify(checked, f"user{number}", "x", hashed) for number in range(6)]
    found = await asyncio.gather(*shown, checked.hash("x"), return_exceptions=True)
    assert [type(one) for one in found] == [bool] * 3 + [TooManyAttempts] * 3 + [str]
    assert counted(checked) == 0
    assert await checked.hash("x")


async def test_a_code_takes_as_long_and_counts_as_a_password_does(checked):
    hashed = await checked.hash_if_right("x", "me", HOME, is_right=True)
    assert hashed is not None
    assert argon2id.matches(hashed, "x")
    assert counted(checked) == 0
    for _ in range(PER_ACCOUNT_AND_ADDRESS):
        assert await checked.hash_if_right("x", "me", HOME, is_right=False) is None
    with pytest.raises(TooManyAttempts):
        await checked.hash_if_right("x", "me", HOME, is_right=True)


async def test_a_renewed_hash_is_of_the_same_password(checked):
    renewed = await checked.renewed("x", await checked.hash("x"))
    assert argon2id.matches(renewed, "x")


async def test_the_number_of_remembered_passwords_is_limited(monkeypatch, checked):
    monkeypatch.setattr(passwords, "MAX_REMEMBERED", 2)
    monkeypatch.setattr(argon2id, "matches", lambda *_: True)
    for name in ("a", "b", "c"):
        await verify(checked, name, "x", "hash")
    assert [checked.remembers(name, "x", "hash") for name in "abc"] == [False, True, True]


# C2.9
async def test_nothing_that_is_remembered_holds_a_password(checked):
    await verify(checked, "me", "opensesame", await checked.hash("opensesame"))
    assert b"opensesame" not in repr(checked.__dict__).encode()


@pytest.mark.parametrize(
    ("processors", "workers", "at_once"),
    [(1, 1, 1), (2, 1, 1), (4, 1, 2), (64, 1, 4), (64, 2, 2), (64, 3, 1), (2, 8, 1)],
)
def test_hashes_have_half_of_the_processors_and_each_process_can_compute_one(
    processors, workers, at_once
):
    assert hashed_at_once(processors, workers) == at_once


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux only")
async def test_threads_that_hash_let_others_go_first(checked):
    def niceness():
        stat = Path(f"/proc/self/task/{threading.get_native_id()}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[16])

    before = niceness()
    assert await checked._computed(niceness) == min(before + 5, 19)
    assert niceness() == before


async def test_a_sandbox_that_lets_no_thread_give_way_refuses_no_password(monkeypatch, checked):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "nice", refuse)
    stored_hash = await checked.hash("right")
    assert await verify(checked, "name", "right", stored_hash)
