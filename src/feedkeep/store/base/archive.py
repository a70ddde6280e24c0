"""Reading all that is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeAlias

from feedkeep.model import Records

RECORDS_AT_ONCE = 1_000
"""How many records are in memory at once while everything is read or written."""


class Archive(Protocol):
    """Everything that is stored, as it is at one moment."""

    async def count(self) -> int:
        """Return how many records there are."""

    def records(self) -> AsyncIterator[Records]:
        """Yield all records, at most `RECORDS_AT_ONCE` at a time, as often as it is called.

        First owners, then tokens, deletions, subscriptions, pointers, former states of both,
        episode actions, documents: what other records refer to comes before them. Each kind is
        ordered by account, and then by its key in the account.
        """


Check: TypeAlias = Callable[[Archive], Awaitable[None]]
"""Reads what was put into a store, and raises an error if it is not what it should be."""
