"""Passwords: one computation for each check, shared by those who show the same, in fair turns."""

import asyncio
import os
import sys
import threading
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
    """Make hashing cheap: these tests count hashes, whatever they cost."""
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
def at_once():
    """The number of concurrent hashes; None: as on this machine."""


@pytest.fixture
async def checked(monkeypatch, at_once):
    if at_once is not None:
        monkeypatch.setattr(passwords, "hashed_at_once", lambda *_: at_once)
    checked = Passwords(Throttle())
    yield checked
    checked.close()


def counted(checked):
    """Return for how many names and addresses an attempt is counted."""
    return len(checked._throttle._attempts)


async def verify(checked, name, password, stored_hash, address=HOME):
    return await checked.verify(name, password, stored_hash, name, address)


async def test_every_check_computes_exactly_once_for_any_name(computed, checked):
    hashed = await checked.hash("right")
    assert await verify(checked, "me", "right", hashed)
    assert counted(checked) == 0
    assert not await verify(checked, "me", "wrong", hashed)
    assert not await verify(checked, "stranger", "right", None)
    assert computed == ["right", "wrong", "right"]
    assert counted(checked) == 2 + 2 + 1
    with pytest.raises(InvalidHashError):  # a fault of the server is no wrong password
        await verify(checked, "me", "right", "a damaged hash")
    assert checked._checking == {}
    assert not checked._throttle._checking  # otherwise some would wait for it for ever


# C2.9
async def test_a_right_password_is_cached_with_its_stored_hash(monkeypatch, checked):
    hashed = await checked.hash("opensesame")
    assert not checked.remembers("me", "opensesame", hashed)
    await verify(checked, "me", "opensesame", hashed)
    await verify(checked, "me", "wrong", hashed)
    assert checked.remembers("me", "opensesame", hashed)
    assert not checked.remembers("me", "wrong", hashed)
    assert not checked.remembers("you", "opensesame", hashed)
    assert not checked.remembers("me", "opensesame", "another hash")
    assert not checked.remembers("me", "opensesame", None)
    checked.remember("me", "opensesame", "another hash")
    assert checked.remembers("me", "opensesame", "another hash")
    assert b"opensesame" not in repr(checked.__dict__).encode()
    monkeypatch.setattr(passwords, "MAX_REMEMBERED", 2)
    monkeypatch.setattr(argon2id, "matches", lambda *_: True)
    for name in ("b", "c"):
        await verify(checked, name, "x", "hash")
    assert not checked.remembers("me", "opensesame", "another hash")
    assert [checked.remembers(name, "x", "hash") for name in "bc"] == [True, True]


# C2.20
async def test_the_same_password_shown_at_once_is_checked_once(computed, checked):
    hashed = await checked.hash("right")
    first, *others = (
        asyncio.ensure_future(verify(checked, "me", "right", hashed)) for _ in range(30)
    )
    await asyncio.sleep(0)
    first.cancel()  # a caller that goes away does not take the check from the others
    assert await asyncio.gather(*others) == [True] * 29
    assert computed == ["right"]
    assert counted(checked) == 0


@pytest.mark.parametrize("at_once", [3])
async def test_right_passwords_wait_in_place_of_a_refusal(checked):
    hashed = await checked.hash("right")
    people = [verify(checked, f"user{n}", "right", hashed) for n in range(4 * PER_ADDRESS)]
    assert all(await asyncio.gather(*people))
    assert counted(checked) == 0


# C2.22
@pytest.mark.parametrize("at_once", [1, 4, 16])
async def test_wrong_passwords_at_once_are_computed_up_to_the_limit(computed, checked):
    hashed = await checked.hash("right")
    tried = [verify(checked, "me", f"wrong{number}", hashed) for number in range(60)]
    found = await asyncio.gather(*tried, return_exceptions=True)
    assert sum(one is False for one in found) == PER_ACCOUNT_AND_ADDRESS == len(computed)
    assert sum(isinstance(one, TooManyAttempts) for one in found) == 50
    with pytest.raises(TooManyAttempts):  # at once: nothing waits any longer
        await verify(checked, "me", "right", hashed)


# C2.22
@pytest.mark.parametrize("at_once", [2])
async def test_an_attempt_beyond_pending_ones_waits_for_them(monkeypatch, checked):
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


@pytest.mark.parametrize("at_once", [1])
async def test_beyond_a_limit_no_password_waits(monkeypatch, checked):
    monkeypatch.setattr(address_queue, "MAX_WAITING", 3)
    hashed = await checked.hash("x")
    shown = [verify(checked, f"user{number}", "x", hashed) for number in range(6)]
    found = await asyncio.gather(*shown, checked.hash("x"), return_exceptions=True)
    assert [type(one) for one in found] == [bool] * 3 + [TooManyAttempts] * 3 + [str]
    assert counted(checked) == 0
    renewed = await checked.renewed("x", await checked.hash("x"))
    assert argon2id.matches(renewed, "x")


async def test_a_code_takes_as_long_and_counts_as_a_password_does(checked):
    hashed = await checked.hash_if_right("x", "me", HOME, is_right=True)
    assert argon2id.matches(hashed, "x")
    assert counted(checked) == 0
    for _ in range(PER_ACCOUNT_AND_ADDRESS):
        assert await checked.hash_if_right("x", "me", HOME, is_right=False) is None
    with pytest.raises(TooManyAttempts):
        await checked.hash_if_right("x", "me", HOME, is_right=True)


@pytest.mark.parametrize(
    ("processors", "workers", "expected"),
    [(1, 1, 1), (2, 1, 1), (4, 1, 2), (64, 1, 4), (64, 2, 2), (64, 3, 1), (2, 8, 1)],
)
def test_hashes_have_half_of_the_processors(processors, workers, expected):
    assert hashed_at_once(processors, workers) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux only")
async def test_threads_that_hash_let_others_go_first_where_they_may(monkeypatch, checked):
    def niceness():
        stat = Path(f"/proc/self/task/{threading.get_native_id()}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[16])

    def refuse(*_):
        raise PermissionError

    before = niceness()
    assert await checked._computed(niceness) == min(before + 5, 19)
    assert niceness() == before
    monkeypatch.setattr(os, "nice", refuse)  # as a sandbox does
    elsewhere = Passwords(Throttle())
    assert await verify(elsewhere, "name", "right", await elsewhere.hash("right"))
    elsewhere.close()
