"""Feeds of a list that look like the same podcast, and that a person keeps apart."""

from __future__ import annotations

from feedkeep.model import Guid
from feedkeep.rules.not_duplicates import MAX_REMEMBERED, keep_apart, pair_of

A, B, C = (Guid(f"00000000-0000-4000-8000-00000000000{number}") for number in range(3))


def test_a_pair_is_the_same_from_both_sides() -> None:
    assert pair_of(A, B) == pair_of(B, A) != pair_of(A, C)


def test_a_pair_is_remembered_once_and_the_newest_comes_last() -> None:
    kept = keep_apart(keep_apart((), A, B), A, C)
    assert list(kept) == [pair_of(A, B), pair_of(A, C)]
    assert list(keep_apart(kept, B, A)) == [pair_of(A, C), pair_of(A, B)]


def test_only_so_many_pairs_are_remembered() -> None:
    many = [pair_of(Guid(str(number)), A) for number in range(MAX_REMEMBERED)]
    kept = keep_apart(many, A, B)
    assert (len(kept), kept[0], kept[-1]) == (MAX_REMEMBERED, many[1], pair_of(A, B))
