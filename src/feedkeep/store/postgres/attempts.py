"""Wrong passwords that processes have counted, in PostgreSQL.

On a cluster, the table is on the machine that is connected to, and every commit is a plain one.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import CountedAttempts, Stamp
from feedkeep.store.attempt_rows import seconds_column, seconds_of
from feedkeep.store.postgres.counted import changed_rows
from feedkeep.store.postgres.runner import PostgresRunner

# It was before the statement saw any row, so that nothing is missed.
_NOW = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"

# Nobody else writes the same rows; who forgets them passes over those that are locked.
_SAVE = f"""
INSERT INTO feedkeep.attempt (key, process, seconds, written)
SELECT w.key, w.process, w.seconds, {_NOW}
FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS w (key, process, seconds)
ORDER BY w.key, w.process
ON CONFLICT (key, process) DO UPDATE SET seconds = excluded.seconds, written = excluded.written
"""
_SAVED = f"""
SELECT c.now, s.key, s.process, s.seconds FROM (SELECT {_NOW} AS now) c
LEFT JOIN (
    SELECT a.key, a.process, a.seconds, a.written FROM feedkeep.attempt a WHERE a.written >= $1
    ORDER BY a.written DESC LIMIT $2
) s ON true ORDER BY s.written
"""
_OLD = f"""
SELECT o.written FROM (
    SELECT greatest({_NOW} - $1::bigint, (
        SELECT m.written FROM feedkeep.attempt m ORDER BY m.written DESC OFFSET $2 LIMIT 1
    )) AS until
) c JOIN feedkeep.attempt o ON o.written <= c.until ORDER BY o.written LIMIT $3
"""
_FORGET = """
WITH old AS MATERIALIZED (
    SELECT o.key, o.process FROM feedkeep.attempt o WHERE o.written <= $1
    ORDER BY o.written LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM feedkeep.attempt a USING old WHERE a.key = old.key AND a.process = old.process
"""


class PostgresAttempts:
    """The table `attempt`."""

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner

    async def save(self, counted: Sequence[CountedAttempts]) -> None:
        columns = (
            [one.key for one in counted],
            [one.process for one in counted],
            [seconds_column(one.seconds) for one in counted],
        )
        await self._runner.write(lambda connection: connection.execute(_SAVE, *columns))

    async def saved_since(self, moment: Stamp, limit: int) -> tuple[Stamp, list[CountedAttempts]]:
        rows = await self._runner.read(lambda connections: connections.fetch(_SAVED, moment, limit))
        return Stamp(rows[0][0]), [
            CountedAttempts(key, process, seconds_of(seconds))
            for _, key, process, seconds in rows
            if key is not None
        ]

    async def forget(self, kept_seconds: int, kept_rows: int, limit: int) -> int:
        old = await self._runner.read(
            lambda connections: connections.fetch(_OLD, kept_seconds * 1_000_000, kept_rows, limit)
        )
        if not old:  # as almost always: then there is no commit
            return 0
        until = old[-1][0]
        return changed_rows(
            await self._runner.write(
                lambda connection: connection.execute(_FORGET, until, len(old))
            )
        )
