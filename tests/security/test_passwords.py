"""Passwords: one computation for each check, shared by those who show the same, and few waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from argon2.exceptions import InvalidHashError

from feedkeep.errors import TooManyAttempts
from feedkeep.security import passwords
from feedkeep.security.passwords import Passwords


class Attempts:
    """Counts attempts, and those that were forgiven."""

    def __init__(self) -> None:
        self.counted = 0
        self.forgiven = 0

    def __call__(self) -> Callable[[], None]:
        self.counted += 1

        def forgive() -> None:
            self.forgiven += 1

        return forgive


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
