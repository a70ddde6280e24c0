"""Wrong passwords that processes have counted, in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from feedkeep.model import CountedAttempts, Stamp
from feedkeep.store.attempt_rows import seconds_column, seconds_of
from feedkeep.store.sqlite.runner import SqliteRunner

_NOW = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
_TIME = f"SELECT {_NOW}"
_SAVE = f"""
INSERT INTO attempt (key, process, seconds, written) VALUES (?, ?, ?, {_NOW})
ON CONFLICT (key, process) DO UPDATE SET seconds = excluded.seconds, written = excluded.written
"""
_SAVED = """
SELECT key, process, seconds FROM attempt WHERE written >= ? ORDER BY written DESC LIMIT ?
"""
_OLD = f"""
SELECT key, process FROM attempt WHERE written <= max({_NOW} - ?, ifnull(
    (SELECT written FROM attempt ORDER BY written DESC LIMIT 1 OFFSET ?), 0
)) ORDER BY written LIMIT ?
"""
_FORGET = "DELETE FROM attempt WHERE key = ? AND process = ?"


class SqliteAttempts:
    """The table `attempt`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def save(self, counted: Sequence[CountedAttempts]) -> None:
        rows = [(one.key, one.process, seconds_column(one.seconds)) for one in counted]
        await self._runner.write(lambda connection: connection.executemany(_SAVE, rows))

    async def saved_since(self, moment: Stamp, limit: int) -> tuple[Stamp, list[CountedAttempts]]:
        def read(connection: apsw.Connection) -> tuple[Stamp, list[CountedAttempts]]:
            now = Stamp(connection.execute(_TIME).get)  # before a row is seen: none is missed
            rows = connection.execute(_SAVED, (moment, limit)).fetchall()
            return now, [
                CountedAttempts(key, process, seconds_of(seconds))
                for key, process, seconds in reversed(rows)
            ]

        return self._runner.read(read)

    async def forget(self, kept_seconds: int, kept_rows: int, limit: int) -> int:
        wanted = (kept_seconds * 1_000_000, kept_rows, limit)
        old = self._runner.read(lambda connection: connection.execute(_OLD, wanted).fetchall())
        if old:  # almost never: else there is no commit
            await self._runner.write(lambda connection: connection.executemany(_FORGET, old))
        return len(old)
