"""Attempts at passwords that processes tell each other about."""

from __future__ import annotations

from array import array

from feedkeep.model.values import Value


class CountedAttempts(Value, frozen=True):
    """The attempts that a process has counted for a name, an address or both.

    Attributes:
        key: A digest that stands for the name, the address or both.
        process: A random number that stands for the process.
        seconds: When they were made, in whole seconds since 1970-01-01T00:00:00Z.
    """

    key: bytes
    process: int
    seconds: array[int]
