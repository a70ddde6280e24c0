"""Passwords: one computation for each check, shared by those who show the same, and few waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError

from feedkeep.errors import AccountError, TooManyAttempts
from feedkeep.security import passwords
from feedkeep.security.passwords import MAX_WAITING, Passwords, check_hash


class Attempts:
    """Counts attempts, and those that were forgiven."""

    def __init__(self) -> None:
        self.counted = 0
        self.forgiven = 0

    def __call__(self) -> Callable[[bool], None]:
        self.counted += 1

        def settle(is_right: bool) -> None:
            self.forgiven += is_right

        return settle


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hashes that were computed against, one for each computation."""
    hashes: list[str] = []
    matches = passwords._matches

    def counted(stored_hash: str, password: str) -> bool:
        hashes.append(stored_hash)
        return matches(stored_hash, password)

    monkeypatch.setattr(passwords, "_matches", counted)
    return hashes


def run(work: Callable[[Passwords], Awaitable[None]]) -> None:
    async def go() -> None:
        checked = Passwords()
        try:
            await work(checked)
        finally:
            checked.close()

    asyncio.run(go())


def test_a_hash_is_argon2id_with_64_mib_and_three_passes_over_four_lanes() -> None:
    async def work(checked: Passwords) -> None:
        hashed = await checked.hash("x")
        assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
        assert hashed != await checked.hash("x")

    run(work)


def test_every_check_computes_exactly_once_for_any_name(computed: list[str]) -> None:
    async def work(checked: Passwords) -> None:
        hashed = await checked.hash("right")
        attempts = Attempts()
        assert await checked.verify("me", "right", hashed, attempts)
        assert not await checked.verify("me", "wrong", hashed, attempts)
        assert not await checked.verify("nobody", "right", None, attempts)
        assert len(computed) == 3
        assert (attempts.counted, attempts.forgiven) == (3, 1)

    run(work)


def test_a_fault_of_the_server_is_not_reported_as_a_wrong_password() -> None:
    async def work(checked: Passwords) -> None:
        with pytest.raises(InvalidHashError):
            await checked.verify("me", "right", "a damaged hash", Attempts())
        assert checked._checking == {}

    run(work)


def test_a_right_password_is_remembered_while_the_stored_hash_stays() -> None:
    async def work(checked: Passwords) -> None:
        hashed = await checked.hash("right")
        assert not checked.remembers("me", "right", hashed)
        await checked.verify("me", "right", hashed, Attempts())
        await checked.verify("me", "wrong", hashed, Attempts())
        assert checked.remembers("me", "right", hashed)
        assert not checked.remembers("me", "wrong", hashed)
        assert not checked.remembers("you", "right", hashed)
        assert not checked.remembers("me", "right", "another hash")
        assert not checked.remembers("me", "right", None)

    run(work)


def test_the_same_password_shown_at_once_is_checked_once_and_counts_once(
    computed: list[str],
) -> None:
    async def work(checked: Passwords) -> None:
        hashed = await checked.hash("right")
        attempts = Attempts()
        results = await asyncio.gather(
            *(checked.verify("me", "right", hashed, attempts) for _ in range(30))
        )
        assert results == [True] * 30
        assert (len(computed), attempts.counted, attempts.forgiven) == (1, 1, 1)

    run(work)


def test_a_caller_that_goes_away_does_not_take_the_check_from_the_others() -> None:
    async def work(checked: Passwords) -> None:
        hashed = await checked.hash("right")
        first, second = (
            asyncio.ensure_future(checked.verify("me", "right", hashed, Attempts()))
            for _ in range(2)
        )
        await asyncio.sleep(0)
        first.cancel()
        assert await second

    run(work)


def test_beyond_a_limit_no_password_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "MAX_WAITING", 3)

    async def work(checked: Passwords) -> None:
        results = await asyncio.gather(
            *(checked.verify(f"user{i}", "x", None, Attempts()) for i in range(5)),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [bool] * 3 + [TooManyAttempts] * 2

    run(work)


def test_the_number_of_remembered_passwords_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "MAX_REMEMBERED", 2)
    monkeypatch.setattr(passwords, "_matches", lambda *_: True)

    async def work(checked: Passwords) -> None:
        for name in ("a", "b", "c"):
            await checked.verify(name, "x", "hash", Attempts())
        assert [checked.remembers(name, "x", "hash") for name in "abc"] == [False, True, True]

    run(work)


def test_nothing_that_is_remembered_holds_a_password() -> None:
    async def work(checked: Passwords) -> None:
        await checked.verify("me", "opensesame", await checked.hash("opensesame"), Attempts())
        assert b"opensesame" not in repr(checked.__dict__).encode()

    run(work)


@pytest.mark.parametrize(
    "text",
    [
        "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13Nr+Q8FkCFWsjG4z6b1j7rM",
        "$argon2id$v=19$m=131072,t=3,p=8$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13Nr+Q8FkCFWsjG4z6b1j7rM",
        "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13Nr+Q8FkCFWsjG4z6b1j7rM",
        "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A",
    ],
)
def test_a_hash_that_was_made_elsewhere_is_taken_if_a_check_costs_no_more_than_twice_ours(
    text: str,
) -> None:
    assert check_hash(text) == text
    assert passwords._matches(text, "wrong") is False  # argon2 itself can read it


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text",
        "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
        "$argon2i$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A",
        "$argon2id$v=16$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A",
        "$argon2id$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A",
        "$argon2id$v=19$m=065536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A",
        "$argon2id$v=19$m=65536,t=0,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A",
        "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A\n",
        "$argon2id$v=19$m=65536,t=3,p=4$c29t$8Tf44YakA6Z5zNBgblq13A",
        "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13B",
        "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgb",
        "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$",
    ],
)
def test_what_is_no_argon2id_hash_is_refused(text: str) -> None:
    with pytest.raises(AccountError, match="argon2id hash in PHC form"):
        check_hash(text)


@pytest.mark.parametrize(
    "parameters",
    ["m=131073,t=1,p=4", "m=65536,t=7,p=4", "m=131072,t=4,p=4", "m=65536,t=3,p=9", "m=8,t=1,p=2"],
)
def test_a_hash_that_is_dear_or_impossible_to_check_is_refused(parameters: str) -> None:
    text = f"$argon2id$v=19${parameters}$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A"
    with pytest.raises(AccountError, match="too much memory or time"):
        check_hash(text)


def test_only_so_many_passwords_wait_to_be_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(computing: Passwords) -> None:
        waiting = [asyncio.ensure_future(computing.hash("x")) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyAttempts):
            await computing.hash("x")
        with pytest.raises(TooManyAttempts):
            await computing.verify("name", "x", None, Attempts())
        await asyncio.gather(*waiting)
        assert await computing.hash("x")

    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_HASHER", cheap)
    run(work)
