"""How much is stored in SQLite."""

from __future__ import annotations

from typing import Any

import apsw

from feedkeep.model import AccountId, FeedHealth, Guid, Purpose, Stamp
from feedkeep.store.base import SomeAccounts, SomeFeeds
from feedkeep.store.sqlite.connection import one_moment
from feedkeep.store.sqlite.driver import IS_THERE
from feedkeep.store.sqlite.rows import to_bytes, to_guid
from feedkeep.store.sqlite.runner import SqliteRunner

_ACCOUNTS = f"""
SELECT max(id), count(*), sum(former_count)
FROM (SELECT id, former_count FROM account WHERE id > ? AND {IS_THERE} ORDER BY id LIMIT ?)
"""
_SESSIONS = """
SELECT purpose, count(*) FROM token
WHERE account_id > ? AND account_id <= ? AND is_session AND revoked IS NULL
AND (expires IS NULL OR expires > ?) GROUP BY purpose
"""
_FEEDS = """
SELECT max(guid), count(*), sum(failing IS NOT NULL), sum(failing IS NULL AND known IS NULL)
FROM (SELECT guid, failing, known FROM feed WHERE guid > ? ORDER BY guid LIMIT ?)
"""


class SqliteTotals:
    """Counts rows of the tables `account`, `token` and `feed`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def of_accounts(self, after: AccountId, limit: int, now: Stamp) -> SomeAccounts | None:
        def count(connection: apsw.Connection) -> SomeAccounts | None:
            with one_moment(connection):
                last, accounts, former_states = connection.execute(_ACCOUNTS, (after, limit)).get
                if last is None:
                    return None
                rows: list[Any] = connection.execute(_SESSIONS, (after, last, now)).fetchall()
                sessions = {Purpose(purpose): number for purpose, number in rows}
                return SomeAccounts(AccountId(last), accounts, former_states, sessions)

        return await self._runner.scan(count)

    async def of_feeds(self, after: Guid, limit: int) -> SomeFeeds | None:
        wanted = (to_bytes(after), limit)
        row: Any = await self._runner.scan(
            lambda connection: connection.execute(_FEEDS, wanted).get
        )
        last, feeds, failing, new = row
        if last is None:
            return None
        health = {
            FeedHealth.NEW: new,
            FeedHealth.READ: feeds - failing - new,
            FeedHealth.FAILING: failing,
        }
        return SomeFeeds(to_guid(last), health)
