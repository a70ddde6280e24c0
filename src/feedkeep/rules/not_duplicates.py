"""Feeds of a list that look like the same podcast, and that a person says are not. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import Guid, Value

MAX_REMEMBERED = 1_000
"""How many pairs of an account are remembered; a new one replaces the oldest."""


class Pair(Value, frozen=True):
    """Two feeds that are not the same, by their guids in the list.

    Attributes:
        lower: The guid that sorts first.
        higher: The other one.
    """

    lower: Guid
    higher: Guid


def pair_of(one: Guid, other: Guid) -> Pair:
    """Return the pair of two feeds, whichever is named first."""
    return Pair(min(one, other), max(one, other))


def keep_apart(kept: Sequence[Pair], one: Guid, other: Guid) -> Sequence[Pair]:
    """Return the pairs that are remembered from now on, the newest last."""
    pair = pair_of(one, other)
    return [*(known for known in kept if known != pair), pair][-MAX_REMEMBERED:]
