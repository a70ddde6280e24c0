"""Labels of feeds in SQLite."""

from __future__ import annotations

import apsw

from feedkeep.model import AccountId, Labelled
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.base import DecideLabels
from feedkeep.store.batch import MAX_WRITE_WEIGHT
from feedkeep.store.sqlite.driver import there
from feedkeep.store.sqlite.rows import ROWS, insert_into
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import ENTRY, LABELS, columns

_AT_ONCE = 20
"""Number of labels after which other tasks may run."""

_OF = f"""
SELECT {columns(LABELS.columns, "l")}, {columns(ENTRY, "e")}, {columns(ENTRY, "s")}
FROM feed_label l JOIN entry e ON e.account_id = l.account_id AND e.guid = l.guid
LEFT JOIN entry s ON s.account_id = l.account_id AND s.guid = e.new_guid
WHERE l.account_id = ? ORDER BY l.guid
"""
_SAVE = f"{insert_into(LABELS)} {LABELS.or_update}"


class SqliteFeedLabels:
    """The table `feed_label`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def of(self, account_id: AccountId) -> list[Labelled]:
        def read(connection: apsw.Connection) -> list[Labelled]:
            return [ROWS.labelled_of(row) for row in connection.execute(_OF, (account_id,))]

        return await self._runner.scan(read)

    async def change(self, account_id: AccountId, decide: DecideLabels) -> None:
        def change(connection: apsw.Connection) -> Yielding[None]:
            there(connection, account_id)
            known: list[Labelled] = []
            for row in connection.execute(_OF, (account_id,)):
                known.append(ROWS.labelled_of(row))
                if len(known) % _AT_ONCE == 0:
                    yield None
            saved = yield lambda: decide(known)
            for start in range(0, len(saved), _AT_ONCE):
                rows = [
                    (account_id, *ROWS.label_row(one)) for one in saved[start : start + _AT_ONCE]
                ]
                connection.executemany(_SAVE, rows)
                yield None

        await self._runner.write_in_turns(change, account_id, MAX_WRITE_WEIGHT)
