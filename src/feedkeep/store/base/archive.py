"""Reading all stored data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeAlias

from feedkeep.model import Records

RECORDS_AT_ONCE = 1_000
"""Maximum number of records in memory while everything is read or written."""


class Archive(Protocol):
    """All stored data, as of one moment."""

    async def count(self) -> int:
        """Return the number of records."""

    def records(self) -> AsyncIterator[Records]:
        """Yield all records, at most `RECORDS_AT_ONCE` at a time; each call starts again.

        Records come after the ones that they refer to: first owners, then tokens, deletions,
        subscriptions, pointers, former states of both, episode actions, documents. Each kind is
        ordered by account, and then by its key in the account.
        """


Check: TypeAlias = Callable[[Archive], Awaitable[None]]
"""Reads the data that was put into a store, and raises an error if it is wrong."""
