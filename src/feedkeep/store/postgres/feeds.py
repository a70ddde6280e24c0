"""Feed data in PostgreSQL, where any number of processes fetch feeds.

On a cluster, feeds are on all machines, and a transaction changes one feed: so its commit has one
phase. On one server a transaction changes many feeds. It skips locked feeds, or locks feeds in the
order of their guids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import asyncpg

from feedkeep.model import AccountId, Feed, Guid, NewSubscriber, Picture, Stamp, Subscription
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
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
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.counted import changed_rows
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.rows import Row
from feedkeep.store.tables import ENTRY, columns

_AT_ONCE = 100
"""Maximum number of feeds per statement; with many more, PostgreSQL reads the whole table."""

_NEVER = 2**63 - 1

# The following statements read all machines, and change nothing.
_WANTED = "SELECT f.guid, f.wanted FROM feedkeep.feed f WHERE f.guid = ANY($1::uuid[])"
_KNOWN = f"SELECT {columns(FEED, 'f')} FROM feedkeep.feed f WHERE f.guid = ANY($1::uuid[])"
_DUE = """
SELECT f.guid FROM feedkeep.feed f
WHERE f.next_fetch BETWEEN $3 AND $4 AND f.leased_until <= $1
ORDER BY f.next_fetch LIMIT $2
"""
_FIRST_FREE = """
SELECT f.next_fetch FROM feedkeep.feed f WHERE f.leased_until <= f.next_fetch
ORDER BY f.next_fetch LIMIT 1
"""
# All feeds before the first one without a lease are leased, and are few.
_FIRST_LEASE_TO_END = """
SELECT min(f.leased_until) FROM feedkeep.feed f
WHERE f.next_fetch <= $1 AND f.leased_until > f.next_fetch
"""
_UNWANTED = "SELECT f.guid FROM feedkeep.feed f WHERE f.wanted < $1 ORDER BY f.wanted LIMIT $2"
_SOME_ACCOUNTS = """
SELECT a.account_id, a.subscribed_count FROM feedkeep.account a
WHERE a.account_id > $1 ORDER BY a.account_id LIMIT $2
"""
LOOKS = (_WANTED, _KNOWN, _DUE, _FIRST_FREE, _FIRST_LEASE_TO_END, _UNWANTED, _SOME_ACCOUNTS)
"""The statements that read rows of all machines."""

_PICTURE = f"SELECT {columns(PICTURE, 'p')} FROM feedkeep.feed_picture p WHERE p.guid = $1"
_HASTEN = f"""
UPDATE feedkeep.feed f SET next_fetch =
    CASE WHEN f.leased_until > $5 THEN $5::bigint + {AFTER_LEASE_US} ELSE $3 END
WHERE f.guid = $1 AND f.next_fetch = $2
    AND CASE WHEN f.leased_until > $5 THEN f.leased_until <= $4 ELSE f.next_fetch > $3 END
"""
_SAVE = """
UPDATE feedkeep.feed f SET url = $3, leased_until = 0, failing = $5, known = $6, next_fetch =
    CASE WHEN f.next_fetch = coalesce($7, f.next_fetch) THEN $4 ELSE least(f.next_fetch, $4) END
WHERE f.guid = $1 AND f.leased_until = $2
"""
_RENEW = """
UPDATE feedkeep.feed f
SET url = $2, wanted = $3, next_fetch = $4, leased_until = 0, failing = $5, known = $6
WHERE f.guid = $1
"""
_SAVE_PICTURE = f"""
INSERT INTO feedkeep.feed_picture (guid, {columns(PICTURE)}) VALUES ($1, $2, $3, $4)
ON CONFLICT (guid) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in PICTURE)}
"""

_ADD = "INSERT INTO feedkeep.feed (guid, url, wanted, next_fetch)"
_ADD_ONE = f"{_ADD} VALUES ($1, $2, $3, $4) ON CONFLICT (guid) DO NOTHING"
_ADD_SOME = f"""
{_ADD} SELECT w.guid, w.url, $3, w.turn
FROM unnest($1::uuid[], $2::text[], $4::bigint[]) AS w (guid, url, turn)
ORDER BY w.guid ON CONFLICT (guid) DO NOTHING
"""
_MARK_ONE = "UPDATE feedkeep.feed f SET wanted = $2 WHERE f.guid = $1 AND f.wanted <= $3"
_MARK_SOME = """
WITH held AS MATERIALIZED (
    SELECT h.guid FROM feedkeep.feed h WHERE h.guid = ANY($1::uuid[]) AND h.wanted <= $3
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE feedkeep.feed f SET wanted = $2 FROM held WHERE f.guid = held.guid
"""
_LEASE_ONE = f"""
UPDATE feedkeep.feed f SET leased_until = $2
WHERE f.guid = $1 AND f.next_fetch <= $3 AND f.leased_until <= $3 RETURNING {columns(FEED, "f")}
"""
_LEASE_SOME = f"""
WITH due AS MATERIALIZED (
    SELECT d.guid FROM feedkeep.feed d
    WHERE d.next_fetch BETWEEN $4 AND $5 AND d.leased_until <= $1
    ORDER BY d.next_fetch LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE feedkeep.feed f SET leased_until = $2 FROM due WHERE f.guid = due.guid
RETURNING {columns(FEED, "f")}
"""
_GIVE_BACK_ONE = """
UPDATE feedkeep.feed f SET leased_until = 0 WHERE f.guid = $1 AND f.leased_until = $2
"""
_GIVE_BACK_SOME = """
WITH held AS MATERIALIZED (
    SELECT h.guid FROM feedkeep.feed h WHERE h.guid = ANY($1::uuid[]) AND h.leased_until = $2
    ORDER BY h.guid FOR NO KEY UPDATE
)
UPDATE feedkeep.feed f SET leased_until = 0 FROM held WHERE f.guid = held.guid
"""
# Deletes the feed's picture, too.
_FORGET_ONE = "DELETE FROM feedkeep.feed f WHERE f.guid = $1 AND f.wanted < $2"
_FORGET_SOME = """
WITH unwanted AS MATERIALIZED (
    SELECT u.guid FROM feedkeep.feed u WHERE u.wanted < $1 ORDER BY u.wanted LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM feedkeep.feed f USING unwanted WHERE f.guid = unwanted.guid
"""

_SUBSCRIBED = f"""
SELECT e.account_id, {columns(ENTRY, "e")} FROM feedkeep.entry e
WHERE e.account_id {{is_wanted}} AND e.is_subscribed ORDER BY e.account_id
"""
_SUBSCRIBED_OF_ONE = _SUBSCRIBED.format(is_wanted="= $1")
_SUBSCRIBED_OF_SOME = _SUBSCRIBED.format(is_wanted="= ANY($1::bigint[])")


class PostgresFeeds:
    """The tables `feed` and `feed_picture`."""

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner
        self._is_distributed = runner.shape.is_distributed

    async def want(
        self, urls: Mapping[Guid, str], now: Stamp, turns: Mapping[Guid, Stamp] | None = None
    ) -> None:
        turns = turns or {}
        long_ago = now - WANTED_AGAIN_US
        rows = await self._runner.scan(partial(_read_parts, _WANTED, list(urls)))
        known = {Guid(str(guid)): wanted for guid, wanted in rows}
        # In guid order, and new feeds separately, to avoid deadlocks.
        new = sorted(urls.keys() - known.keys())
        marked = sorted(guid for guid, wanted in known.items() if wanted <= long_ago)
        if self._is_distributed:
            for guid in new:
                await self._execute(_ADD_ONE, guid, urls[guid], now, turns.get(guid, 0))
            for guid in marked:
                await self._execute(_MARK_ONE, guid, now, long_ago)
            return
        for some in _parts(new):
            texts, when = [urls[guid] for guid in some], [turns.get(guid, 0) for guid in some]
            await self._execute(_ADD_SOME, some, texts, now, when)
        for some in _parts(marked):
            await self._execute(_MARK_SOME, some, now, long_ago)

    async def known(self, guids: Collection[Guid]) -> dict[Guid, Feed]:
        rows = await self._runner.scan(
            lambda connections: _read_parts(_KNOWN, list(guids), connections)
        )
        feeds = await in_thread_if(len(rows) > LONG_LIST, _feeds_of, rows)
        return {feed.guid: feed for feed in feeds}

    async def hasten(self, new_subscribers: Collection[NewSubscriber], now: Stamp) -> None:
        for one in new_subscribers:  # one at a time: no transaction waits while it holds a lock
            row = (one.guid, one.due, one.moment, one.began_before, now)
            await self._execute(_HASTEN, *row)

    async def lease(
        self,
        now: Stamp,
        until: Stamp,
        limit: int,
        between: tuple[Stamp, Stamp] | None = None,
    ) -> list[Feed]:
        first, last = between or (Stamp(0), now)
        due = first, min(last, now)
        if self._is_distributed:
            return await self._lease_one_by_one(now, until, limit, due)
        feeds = _feeds_of(await self._fetch(_LEASE_SOME, now, until, limit, *due))
        return sorted(feeds, key=lambda feed: (feed.next_fetch, feed.guid))

    async def _lease_one_by_one(
        self, now: Stamp, until: Stamp, limit: int, between: tuple[Stamp, Stamp]
    ) -> list[Feed]:
        """Lease feeds one by one: no lock spans machines, so each lease checks the time again."""
        leased: list[Feed] = []
        while not leased:  # repeat if other processes leased all of these first
            due = await self._runner.scan(
                lambda connections: connections.fetch(_DUE, now, limit, *between)
            )
            if not due:
                break
            for (guid,) in due:
                leased.extend(_feeds_of(await self._fetch(_LEASE_ONE, guid, until, now)))
        return leased

    async def save(
        self,
        feed: Feed,
        leased_until: Stamp,
        picture: Picture | None = None,
        due: Stamp | None = None,
    ) -> bool:
        row = (feed.url, feed.next_fetch, feed.failing, known_column(feed), due)

        async def save(connection: asyncpg.Connection) -> bool:
            done = await connection.execute(_SAVE, feed.guid, leased_until, *row)
            is_held = changed_rows(done) > 0
            if is_held and picture is not None:
                await connection.execute(_SAVE_PICTURE, feed.guid, *picture_row(picture))
            return is_held

        return await self._runner.write(save)

    async def renew(self, feeds: Collection[Feed]) -> None:
        for feed in feeds:  # one at a time: no transaction waits while it holds a lock
            await self._execute(
                _RENEW,
                feed.guid,
                feed.url,
                feed.wanted,
                feed.next_fetch,
                feed.failing,
                known_column(feed),
            )

    async def release(self, guids: Collection[Guid], leased_until: Stamp) -> None:
        if not self._is_distributed:
            await self._execute(_GIVE_BACK_SOME, list(guids), leased_until)
            return
        for guid in guids:
            await self._execute(_GIVE_BACK_ONE, guid, leased_until)

    async def next_fetch(self) -> Stamp | None:
        async def read(connections: Connections) -> Stamp | None:
            moments = [row[0] for row in await connections.fetch(_FIRST_FREE)]
            until = min(moments, default=_NEVER)
            moments += [row[0] for row in await connections.fetch(_FIRST_LEASE_TO_END, until)]
            return min((moment for moment in moments if moment is not None), default=None)

        return await self._runner.read(read)

    async def picture(self, guid: Guid) -> Picture | None:
        rows = await self._runner.read(lambda connections: connections.fetch(_PICTURE, guid))
        return picture_of(rows[0]) if rows else None

    async def forget(self, wanted_before: Stamp, limit: int) -> int:
        rows = await self._runner.scan(
            lambda connections: connections.fetch(_UNWANTED, wanted_before, limit)
        )
        if not rows:  # usual: no commit is needed
            return 0
        if not self._is_distributed:
            return await self._execute(_FORGET_SOME, wanted_before, limit)
        return sum([await self._execute(_FORGET_ONE, guid, wanted_before) for (guid,) in rows])

    async def subscribed(
        self, after: AccountId, limit: int
    ) -> tuple[AccountId | None, list[tuple[AccountId, Subscription]]]:
        rows = await self._runner.scan(
            lambda connections: connections.fetch(_SOME_ACCOUNTS, after, MAX_ACCOUNTS)
        )
        if not rows:
            return None, []
        counts = next_accounts([(AccountId(row[0]), row[1]) for row in rows], limit)
        with_any = [account_id for account_id, count in counts if count]
        read = partial(_read_subscribed, account_ids=with_any, one_by_one=self._is_distributed)
        return counts[-1][0], await self._runner.scan(read)

    async def _fetch(self, statement: str, *arguments: Any) -> Sequence[Row]:
        rows: Sequence[Row] = await self._runner.write(
            lambda connection: connection.fetch(statement, *arguments)
        )
        return rows

    async def _execute(self, statement: str, *arguments: Any) -> int:
        return changed_rows(
            await self._runner.write(lambda connection: connection.execute(statement, *arguments))
        )


async def _read_parts(statement: str, guids: Sequence[Guid], connections: Connections) -> list[Row]:
    return [row for some in _parts(guids) for row in await connections.fetch(statement, some)]


async def _read_subscribed(
    connections: Connections, account_ids: Sequence[AccountId], *, one_by_one: bool
) -> list[tuple[AccountId, Subscription]]:
    """Return the subscribed feeds of accounts; on a cluster, with one statement per account."""
    if one_by_one:
        each = [await connections.fetch(_SUBSCRIBED_OF_ONE, one) for one in account_ids]
        rows = [row for some in each for row in some]
    else:
        rows = await connections.fetch(_SUBSCRIBED_OF_SOME, account_ids)
    return await in_thread_if(len(rows) > LONG_LIST, _subscribed_of, rows)


def _subscribed_of(rows: Sequence[Row]) -> list[tuple[AccountId, Subscription]]:
    return [(AccountId(row[0]), ROWS.subscription_of(row[1:])) for row in rows]


def _feeds_of(rows: Sequence[Row]) -> list[Feed]:
    return [feed_of(Guid(str(row[0])), row) for row in rows]


def _parts(guids: Sequence[Guid]) -> Iterator[Sequence[Guid]]:
    for start in range(0, len(guids), _AT_ONCE):
        yield guids[start : start + _AT_ONCE]
