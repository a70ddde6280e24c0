"""Failed login attempts, shared between processes."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence

from feedkeep.model import CountedAttempts, Stamp
from feedkeep.store.driver import Driver
from feedkeep.store.sql import NOW, SKIP_LOCKED, insert_each, sql

_SAVE = insert_each(
    "INSERT INTO feedkeep.attempt (key, process, seconds, written)",
    f"w.p1, w.p2, w.p3, {NOW}",
    "ON CONFLICT (key, process) DO UPDATE SET seconds = excluded.seconds,"
    " written = excluded.written",
    *("bytea", "bigint", "bytea"),
)
# The first row has the time, the others have attempts.
_SAVED = sql(f"""
SELECT {NOW}, 0, CAST(NULL AS bytea), CAST(NULL AS bytea) UNION ALL SELECT * FROM (
    SELECT o.written, o.process, o.key, o.seconds FROM feedkeep.attempt o WHERE o.written >= $1
    ORDER BY o.written DESC LIMIT $2
) s
""")
_OLD = sql(f"""
SELECT o.written FROM feedkeep.attempt o WHERE o.written <= greatest(
    {NOW} - CAST($1 AS bigint),
    coalesce((
        SELECT m.written FROM feedkeep.attempt m ORDER BY m.written DESC LIMIT 1 OFFSET $2
    ), 0)
) ORDER BY o.written LIMIT $3
""")
_FORGET = sql(f"""
WITH old AS MATERIALIZED (
    SELECT o.key, o.process FROM feedkeep.attempt o WHERE o.written <= $1
    ORDER BY o.written LIMIT $2 {SKIP_LOCKED}
)
DELETE FROM feedkeep.attempt WHERE (key, process) IN (SELECT key, process FROM old) RETURNING 1
""")


class Attempts:
    """Recent login attempts counted by each process; not part of copies.

    One clock dates the rows of all processes: the server's, or this machine's. A process writes
    only its own rows. On a cluster, the table is on the coordinator, and every commit has one
    phase.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def save(self, counted: Sequence[CountedAttempts]) -> None:
        """Store a process's attempts, replacing its earlier attempts for the same keys."""
        rows = sorted((one.key, one.process, _packed(one.seconds)) for one in counted)
        await self._driver.write(lambda statements: statements.write_each(_SAVE, rows))

    async def saved_since(
        self, moment: Stamp, limit: int
    ) -> tuple[Stamp, Sequence[CountedAttempts]]:
        """Return the attempts stored at `moment` or later, and the time by the same clock.

        Returns only the last `limit` attempts, in the order of storing.
        """
        now, *rows = await self._driver.read(_SAVED, moment, limit)
        return Stamp(now[0]), [
            CountedAttempts(key, process, _unpacked(seconds))
            for _, process, key, seconds in reversed(rows)
        ]

    async def forget(self, kept_seconds: int, kept_rows: int, limit: int) -> int:
        """Delete up to `limit` of the oldest attempts; return their number.

        Deletes attempts older than `kept_seconds`, and attempts in excess of `kept_rows`.
        """
        old = await self._driver.read(_OLD, kept_seconds * 1_000_000, kept_rows, limit)
        if not old:  # usual: no commit is needed
            return 0
        last = old[-1][0]
        gone = await self._driver.write(lambda job: job.fetch(_FORGET, last, len(old)))
        return len(gone)


def _packed(seconds: array[int]) -> bytes:
    return struct.pack(f"<{len(seconds)}I", *seconds)


def _unpacked(column: bytes) -> array[int]:
    return array("I", struct.unpack(f"<{len(column) // 4}I", column))
