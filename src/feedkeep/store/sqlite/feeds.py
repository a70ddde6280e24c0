"""Feed data in SQLite."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import apsw

from feedkeep.model import AccountId, Feed, Guid, NewSubscriber, Picture, Stamp, Subscription
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.feed_rows import (
    AFTER_LEASE_US,
    FEED,
    MAX_ACCOUNTS,
    PICTURE,
    WANTED_AGAIN_US,
    feed_of,
    known_column,
    next_accounts,
    picture_of,
    picture_row,
)
from feedkeep.store.sql import AND_NOT_DELETED, for_sqlite
from feedkeep.store.sqlite.connection import one_moment
from feedkeep.store.sqlite.rows import ROWS, to_bytes, to_guid
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import ENTRY, columns

_FEW_READ = 20
"""Maximum number of feeds that are read on the event loop, within 1 ms."""

_WRITTEN_AT_ONCE = 100
"""Maximum number of feeds per commit, so that other requests need not wait long."""

_WANTED = "SELECT wanted FROM feed WHERE guid = ?"
_WANT = f"""
INSERT INTO feed (guid, url, wanted, next_fetch) VALUES (?, ?, ?, ?)
ON CONFLICT (guid) DO UPDATE SET wanted = excluded.wanted
WHERE feed.wanted <= excluded.wanted - {WANTED_AGAIN_US}
"""
_KNOWN = f"SELECT {columns(FEED)} FROM feed WHERE guid = ?"
_DUE = f"""
SELECT {columns(FEED)} FROM feed WHERE next_fetch BETWEEN ?1 AND ?2 AND leased_until <= ?3
ORDER BY next_fetch LIMIT ?4
"""
_LEASE = "UPDATE feed SET leased_until = ? WHERE guid = ?"
_HASTEN = f"""
UPDATE feed SET
    next_fetch = CASE WHEN leased_until > ?5 THEN ?5 + {AFTER_LEASE_US} ELSE ?3 END
WHERE guid = ?1 AND next_fetch = ?2
    AND CASE WHEN leased_until > ?5 THEN leased_until <= ?4 ELSE next_fetch > ?3 END
"""
_SAVE = """
UPDATE feed SET
    next_fetch = CASE WHEN next_fetch = ifnull(?7, next_fetch) THEN ?2 ELSE min(next_fetch, ?2) END,
    url = ?1, leased_until = 0, failing = ?3, known = ?4
WHERE guid = ?5 AND leased_until = ?6
"""
_RENEW = """
UPDATE feed SET url = ?, wanted = ?, next_fetch = ?, leased_until = 0, failing = ?, known = ?
WHERE guid = ?
"""
_SAVE_PICTURE = f"""
INSERT OR REPLACE INTO feed_picture (guid, {columns(PICTURE)}) VALUES (?, ?, ?, ?)
"""
_GIVE_BACK = "UPDATE feed SET leased_until = 0 WHERE guid = ? AND leased_until = ?"
# All feeds before the first one without a lease are leased, and are few.
_NEXT_LOOK = """
WITH free AS MATERIALIZED (
    SELECT next_fetch FROM feed WHERE leased_until <= next_fetch ORDER BY next_fetch LIMIT 1
)
SELECT min(moment) FROM (
    SELECT next_fetch AS moment FROM free
    UNION ALL
    SELECT leased_until FROM feed
    WHERE next_fetch <= ifnull((SELECT next_fetch FROM free), 9223372036854775807)
    AND leased_until > next_fetch
)
"""
_PICTURE = f"SELECT {columns(PICTURE)} FROM feed_picture WHERE guid = ?"
_UNWANTED = "SELECT guid FROM feed WHERE wanted < ? ORDER BY wanted LIMIT ?"
_FORGET = "DELETE FROM feed WHERE guid = ?"  # deletes its picture, too
_SOME_ACCOUNTS = for_sqlite(f"""
SELECT a.account_id, a.subscribed_count FROM feedkeep.account a
WHERE a.account_id > $1 {AND_NOT_DELETED} ORDER BY a.account_id LIMIT $2
""")
_SUBSCRIBED = for_sqlite(f"""
SELECT e.account_id, {columns(ENTRY, "e")} FROM feedkeep.entry e
WHERE e.account_id > $1 AND e.account_id <= $2 AND e.is_subscribed AND EXISTS (
    SELECT 1 FROM feedkeep.account a WHERE a.account_id = e.account_id {AND_NOT_DELETED}
) ORDER BY e.account_id
""")


class SqliteFeeds:
    """The tables `feed` and `feed_picture`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def want(
        self, urls: Mapping[Guid, str], now: Stamp, turns: Mapping[Guid, Stamp] | None = None
    ) -> None:
        turns = turns or {}
        rows = [(to_bytes(guid), url, now, turns.get(guid, 0)) for guid, url in urls.items()]
        long_ago = now - WANTED_AGAIN_US

        def to_write(connection: apsw.Connection) -> list[tuple[Any, ...]]:
            return [row for row in rows if _is_not_wanted_since(connection, row[0], long_ago)]

        changed = await self._runner.scan(to_write)
        for start in range(0, len(changed), _WRITTEN_AT_ONCE):
            some = changed[start : start + _WRITTEN_AT_ONCE]
            await self._runner.write_in_turns(partial(_each, _WANT, some), weight=len(some))

    async def known(self, guids: Collection[Guid]) -> dict[Guid, Feed]:
        def read(connection: apsw.Connection) -> dict[Guid, Feed]:
            with one_moment(connection):
                rows = ((guid, connection.execute(_KNOWN, (to_bytes(guid),)).get) for guid in guids)
                return {guid: feed_of(guid, row) for guid, row in rows if row}

        if len(guids) <= _FEW_READ:
            return self._runner.read(read)
        return await self._runner.scan(read)

    async def hasten(self, new_subscribers: Collection[NewSubscriber], now: Stamp) -> None:
        rows = [(to_bytes(n.guid), n.due, n.moment, n.began_before, now) for n in new_subscribers]
        for start in range(0, len(rows), _WRITTEN_AT_ONCE):
            some = rows[start : start + _WRITTEN_AT_ONCE]
            await self._runner.write_in_turns(partial(_each, _HASTEN, some), weight=len(some))

    async def lease(
        self,
        now: Stamp,
        until: Stamp,
        limit: int,
        between: tuple[Stamp, Stamp] | None = None,
    ) -> list[Feed]:
        first, last = between or (Stamp(0), now)
        due = (first, min(last, now), now, limit)

        def lease(connection: apsw.Connection) -> Yielding[list[Feed]]:
            feeds = []
            rows: list[Any] = connection.execute(_DUE, due).fetchall()
            for row in rows:
                connection.execute(_LEASE, (until, row[0]))
                feeds.append(feed_of(to_guid(row[0]), row))
                yield None
            return feeds

        return await self._runner.write_in_turns(lease, weight=limit)

    async def save(
        self,
        feed: Feed,
        leased_until: Stamp,
        picture: Picture | None = None,
        due: Stamp | None = None,
    ) -> bool:
        guid, known = to_bytes(feed.guid), known_column(feed)
        row = (feed.url, feed.next_fetch, feed.failing, known, guid, leased_until, due)

        def save(connection: apsw.Connection) -> bool:
            connection.execute(_SAVE, row)
            is_held = connection.changes() > 0
            if is_held and picture is not None:
                connection.execute(_SAVE_PICTURE, (guid, *picture_row(picture)))
            return is_held

        return await self._runner.write(save)

    async def renew(self, feeds: Collection[Feed]) -> None:
        rows = [
            (f.url, f.wanted, f.next_fetch, f.failing, known_column(f), to_bytes(f.guid))
            for f in feeds
        ]
        await self._runner.write_in_turns(partial(_each, _RENEW, rows), weight=len(rows))

    async def release(self, guids: Collection[Guid], leased_until: Stamp) -> None:
        rows = [(to_bytes(guid), leased_until) for guid in guids]
        await self._runner.write(lambda connection: connection.executemany(_GIVE_BACK, rows))

    async def next_fetch(self) -> Stamp | None:
        moment: Stamp | None = self._runner.read(
            lambda connection: connection.execute(_NEXT_LOOK).get
        )
        return moment

    async def picture(self, guid: Guid) -> Picture | None:
        wanted = (to_bytes(guid),)
        row = self._runner.read(lambda connection: connection.execute(_PICTURE, wanted).get)
        return picture_of(row) if row else None

    async def forget(self, wanted_before: Stamp, limit: int) -> int:
        def unwanted(connection: apsw.Connection) -> list[Any]:
            return connection.execute(_UNWANTED, (wanted_before, limit)).fetchall()

        def forget(connection: apsw.Connection) -> Yielding[int]:
            rows = unwanted(connection)
            for row in rows:
                connection.execute(_FORGET, row)
                yield None
            return len(rows)

        if not self._runner.read(unwanted):  # usual: no commit is needed
            return 0
        return await self._runner.write_in_turns(forget, weight=limit)

    async def subscribed(
        self, after: AccountId, limit: int
    ) -> tuple[AccountId | None, list[tuple[AccountId, Subscription]]]:
        def read(
            connection: apsw.Connection,
        ) -> tuple[AccountId | None, list[tuple[AccountId, Subscription]]]:
            with one_moment(connection):
                counts: list[Any] = connection.execute(
                    _SOME_ACCOUNTS, (after, MAX_ACCOUNTS)
                ).fetchall()
                if not counts:
                    return None, []
                last, _ = next_accounts(counts, limit)[-1]
                rows = connection.execute(_SUBSCRIBED, (after, last))
                return last, [(row[0], ROWS.subscription_of(row[1:])) for row in rows]

        return await self._runner.scan(read)


def _is_not_wanted_since(connection: apsw.Connection, guid: bytes, stamp: int) -> bool:
    wanted = connection.execute(_WANTED, (guid,)).get
    return wanted is None or wanted <= stamp


def _each(
    statement: str, rows: Sequence[tuple[Any, ...]], connection: apsw.Connection
) -> Yielding[None]:
    for row in rows:
        connection.execute(statement, row)
        yield None
