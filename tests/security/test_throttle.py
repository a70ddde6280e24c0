"""Number of wrong passwords before the next attempt has to wait."""

import tracemalloc
from array import array

import pytest

from feedkeep.model import AccountId
from feedkeep.model.errors import TooManyAttempts
from feedkeep.security import throttle
from feedkeep.security.throttle import KEPT_SECONDS, SIGN_UPS_PER_ADDRESS, WINDOW_SECONDS, Throttle


def held_up(watched, name, address, now=0):
    """Return the wait of an attempt in seconds; 0 if it is permitted, and counted."""
    try:
        watched.begin(name, address, now)
    except TooManyAttempts as wait:
        return wait.retry_after_seconds
    return 0


# C2.15, C2.16
@pytest.mark.parametrize(
    ("name", "address", "most", "refused", "others"),
    [
        ("me", "192.0.2.1", 10, ("me", "192.0.2.1"), [("me", "192.0.2.2"), ("you", "192.0.2.1")]),
        ("user{}", "192.0.2.1", 50, ("another", "192.0.2.1"), [("another", "192.0.2.2")]),
        ("me", "192.0.2.{}", 100, ("me", "198.51.100.1"), [("you", "198.51.100.1")]),
        ("me", "2001:db8::{}", 10, ("me", "2001:db8::ffff"), [("me", "2001:db8:0:1::1")]),
        ("me", "a socket", 10, ("me", "a socket"), []),  # an address that is not valid
        ("user{}", "me", 50, ("another", "me"), [("me", "192.0.2.1")]),
    ],
    ids=["both", "address", "account", "64 bits of IPv6", "no address", "no name"],
)
def test_attempts_are_limited(name, address, most, refused, others):
    watched = Throttle()
    waits = [held_up(watched, name.format(n), address.format(n)) for n in range(most)]
    assert waits == [0] * most
    assert held_up(watched, *refused) > 0
    assert [held_up(watched, *other) for other in others] == [0] * len(others)


# C2.15
def test_attempts_are_forgotten_after_five_minutes_and_the_wait_says_when():
    watched = Throttle()
    for second in range(10):
        held_up(watched, "me", "192.0.2.1", now=second)
    wait = held_up(watched, "me", "192.0.2.1", now=10)
    assert 290 <= wait <= 291
    assert held_up(watched, "me", "192.0.2.1", now=10 + wait) == 0
    assert held_up(watched, "me", "192.0.2.1", now=10 + wait) > 0


def test_a_right_attempt_is_taken_back_even_after_it_was_forgotten():
    watched = Throttle()
    for second in range(30):
        watched.settle(watched.begin("me", "192.0.2.1", second), is_right=True)
    assert watched._attempts == {}
    old = watched.begin("me", "192.0.2.1", 0)
    later = KEPT_SECONDS
    for _ in range(10):
        held_up(watched, "me", "192.0.2.1", now=later)
    watched.settle(old, is_right=True)
    assert held_up(watched, "me", "192.0.2.1", now=later) > 0


def test_attempts_are_stored_as_far_as_they_can_matter():
    watched = Throttle()
    for number in range(1_000):
        assert held_up(watched, "me", "192.0.2.1", now=number * 31) == 0
    assert sorted(len(times) for times in watched._attempts.values()) == [10, 50, 100]
    watched = Throttle()
    for number in range(30):
        held_up(watched, f"user{number}", f"192.0.2.{number}", now=number)
    held_up(watched, "me", "198.51.100.1", now=KEPT_SECONDS + 5)
    assert len(watched._attempts) == (29 - 5) * 3 + 3
    held_up(watched, "me", "198.51.100.1", now=2 * KEPT_SECONDS + 5)
    assert len(watched._attempts) == 3


def test_a_names_key_has_a_fixed_size_and_is_the_same_in_every_process():
    watched, another = Throttle(), Throttle()
    name = "a password typed as a name" * 1_000
    for process in (watched, another):
        held_up(process, name, "192.0.2.1")
        assert all(isinstance(key, bytes) and len(key) == 16 for key in process._attempts)
        assert all(one not in str([*process._attempts]) for one in ("password", "192.0.2.1"))
    assert watched._attempts.keys() == another._attempts.keys()


def test_what_is_watched_takes_less_than_24_mb_and_what_others_counted_28():
    watched = Throttle()
    now = 0.0
    tracemalloc.start()
    for number in range(throttle.MAX_KEYS + 100):  # more than could come in five minutes
        now += 0.001
        key = throttle._key("account", f"{number}" * 100)
        watched._attempts[key] = array("d", [now] * throttle.PER_ACCOUNT)
    held_up(watched, "me", "192.0.2.1", now)
    taken_bytes, _ = tracemalloc.get_traced_memory()
    assert len(watched._attempts) == throttle.MAX_KEYS
    assert 16_000_000 < taken_bytes < 24_000_000
    for number in range(throttle.MAX_KEYS + 100):
        times = array("d", [float(number)] * throttle.PER_ACCOUNT)
        watched.learn(number.to_bytes(16), 2**62 + number, times)
    all_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert watched._others_count == throttle.MAX_KEYS
    assert 16_000_000 < all_bytes - taken_bytes < 28_000_000


def test_the_number_of_watched_names_and_addresses_is_limited(monkeypatch):
    monkeypatch.setattr(throttle, "MAX_KEYS", 30)
    watched = Throttle()
    for number in range(100):
        held_up(watched, f"user{number}", f"192.0.2.{number}")
    assert len(watched._attempts) == 30
    attempt = watched.begin("me", "192.0.2.1", 0)
    for number in range(100):
        held_up(watched, f"user{number}", f"198.51.100.{number}")
    watched.settle(attempt, is_right=True)
    assert len(watched._attempts) == 30


def sign_up(watched, address, now):
    watched.settle(watched.begin_by(throttle.sign_up_limits(address), now), is_right=False)


@pytest.mark.parametrize(
    ("account", "address", "most"),
    [
        ("7", "192.0.2.1", throttle.REMOTE_PER_ACCOUNT),
        ("7", "192.0.2.{}", throttle.REMOTE_PER_ACCOUNT),
        ("{}", "192.0.2.1", throttle.REMOTE_PER_ADDRESS),
        ("{}", "192.0.2.{}", throttle.REMOTE_PER_SERVER),
    ],
)
def test_refusals_of_another_server_are_limited(account, address, most):
    watched = Throttle()

    def refuse(n):
        account_id = AccountId(int(account.format(n)))
        limits = throttle.remote_limits(account_id, address.format(n), "pods.example")
        watched.settle(watched.begin_by(limits, 0), is_right=False)

    for n in range(most):
        refuse(n)
    with pytest.raises(TooManyAttempts):
        refuse(most)


def test_ten_sign_ups_from_one_address_beside_wrong_passwords():
    watched = Throttle()
    for _ in range(SIGN_UPS_PER_ADDRESS):
        sign_up(watched, "192.0.2.1", 0)
    with pytest.raises(TooManyAttempts) as refused:
        sign_up(watched, "192.0.2.1", 100)
    assert refused.value.retry_after_seconds == WINDOW_SECONDS - 100
    sign_up(watched, "192.0.2.2", 100)
    watched.begin("name", "192.0.2.1", 100)
    sign_up(watched, "192.0.2.1", WINDOW_SECONDS)


# Attempts shared between processes


def types_wrong(watched, name, address, now=0):
    watched.settle(watched.begin(name, address, now), is_right=False)


def tell(watched, other, process=1):
    for key, times in watched.take_unshared(throttle.MAX_KEYS).items():
        other.learn(key, process, times)


def test_what_another_process_counted_counts_once():
    here, there = Throttle(), Throttle()
    for second in range(4):
        types_wrong(here, "me", "192.0.2.1", second)
    for second in range(6):
        types_wrong(there, "me", "192.0.2.1", 10 + second)
    assert held_up(there, "me", "192.0.2.1", 20) == 0
    tell(here, there)
    assert held_up(there, "me", "192.0.2.1", 20) == WINDOW_SECONDS - 19
    assert held_up(there, "you", "192.0.2.1", 20) == held_up(there, "me", "192.0.2.2", 20) == 0
    here, there = Throttle(), Throttle()
    for second in range(9):
        types_wrong(here, "me", "192.0.2.1", second)
        tell(here, there)  # again what was told before
    assert held_up(there, "me", "192.0.2.1", 20) == 0
    assert held_up(there, "me", "192.0.2.1", 20) > 0
    for _ in range(SIGN_UPS_PER_ADDRESS):
        sign_up(here, "192.0.2.1", 0)
    tell(here, there)
    with pytest.raises(TooManyAttempts):
        sign_up(there, "192.0.2.1", 1)


def test_only_what_was_found_to_be_wrong_is_told():
    here = Throttle()
    right, checked = (here.begin("me", "192.0.2.1", second) for second in range(2))
    here.settle(right, is_right=True)
    assert not here.has_unshared.is_set()
    assert here.take_unshared(9) == {}
    types_wrong(here, "me", "192.0.2.1", 5)
    assert here.has_unshared.is_set()
    assert [list(times) for times in here.take_unshared(9).values()] == [[5]] * 3
    assert not here.has_unshared.is_set()
    here.settle(checked, is_right=False)
    assert [list(times) for times in here.take_unshared(9).values()] == [[1, 5]] * 3


def test_returned_attempts_are_told_again_unless_forgotten(monkeypatch):
    monkeypatch.setattr(throttle, "MAX_KEYS", 6)
    here = Throttle()
    for number in range(2):
        types_wrong(here, f"user{number}", f"192.0.2.{number}")
    first = here.take_unshared(4)
    assert len(first) == 4
    assert here.has_unshared.is_set()
    types_wrong(here, "user2", "192.0.2.2")
    here.return_unshared(first)
    assert here.take_unshared(99).keys() == here._attempts.keys()
    here.return_unshared(first)
    assert not here.take_unshared(99).keys() & list(first)[:3]


def test_what_others_counted_is_bounded_and_forgotten_too(monkeypatch):
    monkeypatch.setattr(throttle, "MAX_KEYS", 30)
    here = Throttle()
    for number in range(100):
        here.learn(number.to_bytes(16), number % 3, array("d", [number]))
        here.learn(b"one of all", number, array("d", [number]))
    assert here._others_count == sum(map(len, here._others.values())) <= 30
    here = Throttle()
    for number in range(10):
        here.learn(number.to_bytes(16), 1, array("d", [number]))
        here.learn(number.to_bytes(16), 2, array("d", [number]))
    held_up(here, "me", "192.0.2.1", KEPT_SECONDS + 4)
    assert here._others_count == sum(map(len, here._others.values())) == 10


def test_it_is_quiet_when_no_login_failed_for_as_long_as_that_counts():
    here = Throttle()
    assert here.is_quiet(0)
    here.settle(here.begin("me", "192.0.2.1", 50), is_right=True)
    assert here.is_quiet(50)
    types_wrong(here, "me", "192.0.2.1", 100)
    assert not here.is_quiet(100 + WINDOW_SECONDS - 1)
    assert here.is_quiet(100 + WINDOW_SECONDS)
    here.learn(b"key", 1, array("d", [200]))
    assert not here.is_quiet(100 + WINDOW_SECONDS)
