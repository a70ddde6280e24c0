"""Storing what processes count of wrong passwords, so that the others know it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from feedkeep.model import CountedAttempts, Stamp


class Attempts(Protocol):
    """The attempts at passwords that processes have counted lately; nothing of it is copied.

    Rows are dated by one clock for all processes: the server's, or this machine's. A process writes
    rows of its own only.
    """

    async def save(self, counted: Sequence[CountedAttempts]) -> None:
        """Store what a process has counted, each in place of what it stored for the same key."""

    async def saved_since(
        self, moment: Stamp, limit: int
    ) -> tuple[Stamp, Sequence[CountedAttempts]]:
        """Return what was stored at a moment or later, and what the time is by the same clock.

        If that is more than `limit`, it is what was stored last. The order is that of storing.
        """

    async def forget(self, kept_seconds: int, kept_rows: int, limit: int) -> int:
        """Forget up to `limit` of what was stored longest ago; return how much that was.

        It is what was not stored in the last `kept_seconds`, and what is more than `kept_rows`.
        """
