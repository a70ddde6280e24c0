"""Labels of feeds in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from feedkeep.model import Account, AccountId, Labelled
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.store.base import DecideLabels
from feedkeep.store.driver import Statements
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresDriver, PostgresRunner
from feedkeep.store.postgres.shape import as_columns
from feedkeep.store.rows import Row
from feedkeep.store.sql import sql
from feedkeep.store.tables import ENTRY, LABELS, columns

AT_ONCE = 1_000
"""Maximum number of labels written per statement."""

_OF = sql(f"""
SELECT {columns(LABELS.columns, "l")}, {columns(ENTRY, "e")}, {columns(ENTRY, "s")}
FROM feedkeep.feed_label l JOIN feedkeep.entry e ON e.account_id = $1 AND e.guid = l.guid
LEFT JOIN feedkeep.entry s ON s.account_id = $1 AND s.guid = e.new_guid
WHERE l.account_id = $1 ORDER BY l.guid
""")
_TYPES = ("uuid", "text", "text", "boolean", "boolean")


class PostgresFeedLabels:
    """The table `feed_label`."""

    def __init__(self, driver: PostgresDriver, runner: PostgresRunner) -> None:
        self._driver = driver
        types = dict(zip(LABELS.columns, _TYPES, strict=True))
        self._save = sql(f"""
            INSERT INTO feedkeep.feed_label AS feed_label (account_id, {columns(LABELS.columns)})
            {runner.shape.selected(**types)}
            {LABELS.or_update}
        """)

    async def of(self, account_id: AccountId) -> list[Labelled]:
        return await _read(await self._driver.scan(_OF, account_id))

    async def change(self, account_id: AccountId, decide: DecideLabels) -> None:
        async def change(statements: Statements, _: Account) -> None:
            known = await _read(await statements.fetch(_OF, account_id))
            # Not in the few threads of `in_thread_if`: the account is locked while it waits.
            saved = await asyncio.to_thread(decide, known)
            for start in range(0, len(saved), AT_ONCE):
                rows = [
                    (account_id, *ROWS.label_row(one)) for one in saved[start : start + AT_ONCE]
                ]
                await statements.execute(self._save, *as_columns(rows))

        await self._driver.change(account_id, change)


async def _read(rows: Sequence[Row]) -> list[Labelled]:
    return await in_thread_if(
        len(rows) > LONG_LIST, lambda: [ROWS.labelled_of(row) for row in rows]
    )
