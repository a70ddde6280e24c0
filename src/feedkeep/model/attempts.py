"""Password attempts that processes share with each other."""

from __future__ import annotations

from array import array

from feedkeep.model.values import Value


class CountedAttempts(Value, frozen=True):
    """The attempts that a process has counted for a name, an address or both.

    Attributes:
        key: Digest of the name, the address or both.
        process: A random number that identifies the process.
        seconds: Times of the attempts, in whole seconds since 1970-01-01T00:00:00Z.
    """

    key: bytes
    process: int
    seconds: array[int]
