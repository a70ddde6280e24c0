"""Hashes of passwords: what they cost, and that a check costs the same for each library's."""

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import HashingError, InvalidHashError
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Account, AccountId, Stamp
from feedkeep.model.errors import AccountError
from feedkeep.security import argon2id
from feedkeep.security.argon2id import OURS, Cost, check_hash, padding

GOOD = "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13A"
OF_AN_EARLIER_VERSION = Cost(64 * 1024, 3, 4)


def made_elsewhere(password, cost):
    return PasswordHasher(cost.passes, cost.memory_kib, cost.lanes).hash(password)


def account_with(password_hash):
    return Account(AccountId(1), "Bob", password_hash, False, Stamp(1))


# C2.7
def test_a_hash_is_argon2id_with_64_mib_and_three_passes_in_one_lane(monkeypatch):
    hashed = argon2id.new_hash("x")
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
    assert hashed != argon2id.new_hash("x")
    assert PasswordHasher().verify(hashed, "x")  # argon2's own function agrees
    assert not argon2id.is_outdated(argon2id.decoy_hash())  # which no password has
    monkeypatch.setattr(argon2id, "OURS", Cost(8, 1, 1))
    assert not argon2id.matches(argon2id.decoy_hash(), "")


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_one_thread_computes_what_a_thread_for_each_lane_does(lanes):
    hashed = made_elsewhere("ünï", Cost(64, 2, lanes))
    assert argon2id.matches(hashed, "ünï")
    assert not argon2id.matches(hashed, "uni")


def work_of(costs):
    """Return the memory that is filled, and the memory that is passed over."""
    return sum(c.memory_kib for c in costs), sum(c.memory_kib * c.passes for c in costs)


def test_hashes_of_earlier_versions_need_no_padding():
    assert work_of([OF_AN_EARLIER_VERSION]) == work_of([OURS])
    assert list(padding(OF_AN_EARLIER_VERSION)) == list(padding(OURS)) == []
    fewer_passes = Cost(OURS.memory_kib, OURS.passes - 1, 1)
    assert list(padding(fewer_passes)) == [Cost(8 * 1024, 8, 1)]


@given(st.integers(8, 56 * 1024), st.integers(1, 30))
def test_a_hash_that_is_cheaper_than_ours_is_compared_at_the_cost_of_ours(memory_kib, passes):
    cost = Cost(memory_kib, passes, 1)
    costs = [cost, *padding(cost)]
    filled, passed = work_of(costs)
    ours_filled, ours_passed = work_of([OURS])
    if memory_kib * passes >= ours_passed:
        assert costs == [cost]
        return
    # Less than 8 KiB cannot be computed; and a part with no pass over it is not filled either.
    assert ours_passed - 8 * 32_768 < passed <= ours_passed
    if ours_passed - memory_kib * passes >= OURS.memory_kib - memory_kib:
        assert ours_filled - 8 < filled <= ours_filled


def test_the_padding_is_computed(monkeypatch):
    monkeypatch.setattr(argon2id, "OURS", Cost(64, 3, 1))
    computed = []
    digest = argon2id._digest

    def counted(cost, *others):
        computed.append(cost)
        return digest(cost, *others)

    monkeypatch.setattr(argon2id, "_digest", counted)
    assert argon2id.matches(made_elsewhere("x", Cost(16, 2, 1)), "x")
    assert computed[0] == Cost(16, 2, 1)
    assert work_of(computed) == work_of([Cost(64, 3, 1)])


def test_a_renewed_hash_costs_what_ours_costs_and_is_of_the_same_password(monkeypatch):
    monkeypatch.setattr(argon2id, "OURS", Cost(16, 1, 1))
    old = made_elsewhere("x", Cost(64, 2, 4))
    new = argon2id.renewed(old, "x")
    assert argon2id.is_outdated(old)
    assert not argon2id.is_outdated(new)
    assert argon2id.matches(new, "x")
    assert account_with(new).salt == account_with(old).salt
    assert account_with(new).salt != account_with(argon2id.new_hash("x")).salt
    assert account_with(None).salt is None
    assert account_with("what is no hash").salt == "what is no hash"


def test_a_fault_of_the_server_is_not_reported_as_a_wrong_password():
    with pytest.raises(InvalidHashError):
        argon2id.matches("a damaged hash", "x")
    with pytest.raises(HashingError, match=r"[Mm]emory"):
        argon2id.matches(GOOD.replace("m=65536,t=3,p=4", "m=8,t=1,p=2"), "x")


@pytest.mark.parametrize(
    ("parameters", "end"),
    [
        ("m=65536,t=3,p=4", "A"),
        ("m=65536,t=3,p=4", "Nr+Q8FkCFWsjG4z6b1j7rM"),
        ("m=131072,t=3,p=8", "Nr+Q8FkCFWsjG4z6b1j7rM"),
        ("m=19456,t=2,p=1", "Nr+Q8FkCFWsjG4z6b1j7rM"),
        ("m=8,t=1,p=1", "A"),
    ],
)
def test_a_hash_from_elsewhere_may_cost_twice_ours(parameters, end):
    text = GOOD.replace("m=65536,t=3,p=4", parameters).removesuffix("A") + end
    assert check_hash(text) == text
    assert PasswordHasher().check_needs_rehash(text) in {True, False}  # argon2 itself can read it


NO_HASH, TOO_DEAR = "argon2id hash in PHC form", "too much memory or time"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NO_HASH),
        ("plain text", NO_HASH),
        ("$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW", NO_HASH),
        (GOOD.replace("argon2id", "argon2i"), NO_HASH),
        (GOOD.replace("v=19", "v=16"), NO_HASH),
        (GOOD.replace("v=19$", ""), NO_HASH),
        (GOOD.replace("m=65536", "m=065536"), NO_HASH),
        (GOOD.replace("t=3", "t=0"), NO_HASH),
        (GOOD + "\n", NO_HASH),
        (GOOD.replace("c29tZXNhbHQ", "c29t"), NO_HASH),
        (GOOD.replace("q13A", "q13B"), NO_HASH),
        (GOOD.replace("lq13A", ""), NO_HASH),
        (GOOD.rpartition("$")[0] + "$", NO_HASH),
        (GOOD.replace("m=65536,t=3", "m=131073,t=1"), TOO_DEAR),
        (GOOD.replace("t=3", "t=7"), TOO_DEAR),
        (GOOD.replace("m=65536,t=3", "m=131072,t=4"), TOO_DEAR),
        (GOOD.replace("p=4", "p=9"), TOO_DEAR),
        (GOOD.replace("m=65536,t=3,p=4", "m=8,t=1,p=2"), TOO_DEAR),  # impossible to check
    ],
)
def test_a_hash_that_cannot_be_checked_at_that_cost_is_refused(text, reason):
    with pytest.raises(AccountError, match=reason):
        check_hash(text)
