"""Fetched feed data, which belongs to no account.

On one PostgreSQL server a transaction changes many feeds; it skips locked feeds, or adds feeds in
the order of their guids.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import methodcaller

from feedkeep.model import (
    AccountId,
    Episode,
    Feed,
    Guid,
    NewestEpisodes,
    NewSubscriber,
    Picture,
    Stamp,
    Subscription,
)
from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.store.driver import Driver, Statements
from feedkeep.store.feed_rows import (
    AFTER_LEASE_US,
    FEED,
    MAX_ACCOUNTS,
    PICTURE,
    WANTED_AGAIN_US,
    episodes_column,
    episodes_of,
    feed_of,
    known_column,
    next_accounts,
    picture_of,
    picture_row,
)
from feedkeep.store.rows import Row, in_parts
from feedkeep.store.sql import (
    AND_NOT_DELETED,
    SKIP_LOCKED,
    change_each,
    find_guids,
    insert_each,
    sql,
)
from feedkeep.store.tables import ENTRY, columns

_DUE_FEEDS = """
SELECT f.guid FROM feedkeep.feed f
WHERE f.next_fetch BETWEEN $3 AND $4 AND f.leased_until <= $1
ORDER BY f.next_fetch LIMIT $2
"""
_DUE = sql(_DUE_FEEDS)
_WANTED = find_guids("SELECT f.guid, f.wanted FROM feedkeep.feed f WHERE f.guid = $1")
_KNOWN = find_guids(f"SELECT {columns(FEED, 'f')} FROM feedkeep.feed f WHERE f.guid = $1")
# All feeds before the first one without a lease are leased, and are few. Without the zero,
# PostgreSQL's planner expects a third of all feeds, and reads the whole table.
_NEXT_FETCH = sql(f"""
WITH free AS MATERIALIZED (
    SELECT f.next_fetch FROM feedkeep.feed f WHERE f.leased_until <= f.next_fetch
    ORDER BY f.next_fetch LIMIT 1
)
SELECT min(n.stamp) FROM (
    SELECT next_fetch AS stamp FROM free
    UNION ALL
    SELECT f.leased_until FROM feedkeep.feed f
    WHERE f.next_fetch BETWEEN 0 AND coalesce((SELECT next_fetch FROM free), {2**63 - 1})
    AND f.leased_until > f.next_fetch
) n
""")
_EPISODES = find_guids("SELECT n.guid, n.episodes FROM feedkeep.feed_episodes n WHERE n.guid = $1")
_UNWANTED = sql("SELECT f.guid FROM feedkeep.feed f WHERE f.wanted < $1 ORDER BY f.wanted LIMIT $2")
_SOME_ACCOUNTS = sql(f"""
SELECT a.account_id, a.subscribed_count FROM feedkeep.account a
WHERE a.account_id > $1 {AND_NOT_DELETED} ORDER BY a.account_id LIMIT $2
""")
LOOKS = (_DUE, _WANTED, _KNOWN, _NEXT_FETCH, _EPISODES, _UNWANTED, _SOME_ACCOUNTS)
"""The statements that, on a cluster, read rows of all machines."""

_PICTURE = sql(f"SELECT {columns(PICTURE, 'p')} FROM feedkeep.feed_picture p WHERE p.guid = $1")
_ADD = insert_each(
    "INSERT INTO feedkeep.feed (guid, url, wanted, next_fetch)",
    "w.p1, w.p2, w.p3, w.p4",
    "ON CONFLICT (guid) DO NOTHING",
    *("uuid", "text", "bigint", "bigint"),
)
_MARK = change_each("UPDATE feedkeep.feed AS f SET wanted = $2", "f.wanted <= $3")
_HASTEN = sql(f"""
UPDATE feedkeep.feed AS f SET next_fetch =
    CASE WHEN f.leased_until > $5 THEN CAST($5 AS bigint) + {AFTER_LEASE_US} ELSE $3 END
WHERE f.guid = $1 AND f.next_fetch = $2
    AND CASE WHEN f.leased_until > $5 THEN f.leased_until <= $4 ELSE f.next_fetch > $3 END
""")
_LEASE_SOME = sql(f"""
WITH due (due_guid) AS MATERIALIZED ({_DUE_FEEDS} {SKIP_LOCKED})
UPDATE feedkeep.feed AS f SET leased_until = $5 FROM due WHERE f.guid = due_guid
RETURNING {columns(FEED)}
""")
_LEASE_ONE = sql(f"""
UPDATE feedkeep.feed AS f SET leased_until = $2
WHERE f.guid = $1 AND f.next_fetch <= $3 AND f.leased_until <= $3 RETURNING {columns(FEED)}
""")
_SAVE = sql("""
UPDATE feedkeep.feed AS f SET url = $3, leased_until = 0, failing = $5, known = $6, next_fetch =
    CASE WHEN f.next_fetch = coalesce($7, f.next_fetch) THEN $4 ELSE least(f.next_fetch, $4) END
WHERE f.guid = $1 AND f.leased_until = $2
""")
_RENEW = sql("""
UPDATE feedkeep.feed AS f
SET url = $2, wanted = $3, next_fetch = $4, leased_until = 0, failing = $5, known = $6
WHERE f.guid = $1
""")
_SAVE_PICTURE = sql(f"""
INSERT INTO feedkeep.feed_picture (guid, {columns(PICTURE)}) VALUES ($1, $2, $3, $4)
ON CONFLICT (guid) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in PICTURE)}
""")
_SAVE_EPISODES = sql("""
INSERT INTO feedkeep.feed_episodes (guid, episodes) VALUES ($1, $2)
ON CONFLICT (guid) DO UPDATE SET episodes = excluded.episodes
""")
_GIVE_BACK = sql("""
UPDATE feedkeep.feed AS f SET leased_until = 0 WHERE f.guid = $1 AND f.leased_until = $2
""")
# Deletes the feed's picture and episodes, too.
_FORGET = change_each("DELETE FROM feedkeep.feed AS f", "f.wanted < $2")
_SUBSCRIBED = sql(f"""
SELECT e.account_id, {columns(ENTRY, "e")} FROM feedkeep.entry e
WHERE e.account_id = ANY($1::bigint[]) AND e.is_subscribed ORDER BY e.account_id
""")


class Feeds:
    """The tables of feeds, their pictures and episodes, by the guids derived from their URLs.

    Several processes share the fetching: each leases a feed first.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._rows = driver.rows

    async def want(
        self, urls: Mapping[Guid, str], now: Stamp, turns: Mapping[Guid, Stamp] | None = None
    ) -> None:
        """Record that feeds have subscribers.

        New feeds are fetched in their `turns`, or next if they have no turn. Of a stored feed, only
        `wanted` becomes `now`, and only if it is a day old or more.
        """
        turns = turns or {}
        rows = await self._driver.find_guids(_WANTED, urls)
        new = urls.keys() - {self._rows.read_guid(guid) for guid, _ in rows}
        added = [
            (self._rows.write_guid(guid), urls[guid], now, turns.get(guid, 0))
            for guid in sorted(new)
        ]
        await self._driver.write_rows(_ADD, added)
        long_ago = now - WANTED_AGAIN_US
        marked = [(guid,) for guid, wanted in rows if wanted <= long_ago]
        await self._driver.write_rows(_MARK, marked, now, long_ago)

    async def known(self, guids: Collection[Guid]) -> dict[Guid, Feed]:
        """Return the stored data of feeds; feeds without data are omitted."""
        rows = await self._driver.find_guids(_KNOWN, guids)
        feeds = await in_thread_if(len(rows) > LONG_LIST, self._feeds_of, rows)
        return {feed.guid: feed for feed in feeds}

    async def hasten(self, new_subscribers: Collection[NewSubscriber], now: Stamp) -> None:
        """Fetch stored feeds earlier, unless their `next_fetch` has changed since.

        A feed that is leased at `now` is fetched again `AFTER_LEASE_US` later if the lease ends at
        `began_before` or earlier: that fetch may have begun before the account subscribed.
        """
        write = self._rows.write_guid
        rows = [(write(n.guid), n.due, n.moment, n.began_before) for n in new_subscribers]
        await self._driver.write_rows(_HASTEN, rows, now)

    async def lease(
        self,
        now: Stamp,
        until: Stamp,
        limit: int,
        between: tuple[Stamp, Stamp] | None = None,
    ) -> list[Feed]:
        """Lease up to `limit` due feeds until `until`, the longest overdue first.

        If `between` is given, their `next_fetch` lies from its first stamp to its second, and not
        after `now`. Nobody else can lease them before `until`.
        """
        first, last = between or (Stamp(0), now)
        due = (now, limit, first, min(last, now))
        if self._driver.is_distributed:
            return await self._lease_one_by_one(now, until, due)
        rows = await self._driver.write(lambda job: job.fetch(_LEASE_SOME, *due, until))
        return sorted(self._feeds_of(rows), key=lambda feed: (feed.next_fetch, feed.guid))

    async def _lease_one_by_one(
        self, now: Stamp, until: Stamp, due: tuple[Stamp, int, Stamp, Stamp]
    ) -> list[Feed]:
        """Lease feeds one by one: no lock spans machines, so each lease checks the time again."""
        leased: list[Row] = []
        # Repeat if other processes leased all of these first.
        while not leased and (found := await self._driver.scan(_DUE, *due)):
            for (guid,) in found:
                one = methodcaller("fetch", _LEASE_ONE, guid, until, now)
                try:
                    leased += await self._driver.write(one)
                except StoreUnavailable:
                    if not leased:
                        raise
                    break  # the earlier leases are committed
        return self._feeds_of(leased)

    async def save(
        self,
        feed: Feed,
        leased_until: Stamp,
        picture: Picture | None = None,
        due: Stamp | None = None,
        episodes: NewestEpisodes | None = None,
    ) -> bool:
        """Store the data of a feed, and end its lease.

        Its picture and its episodes are replaced if there are new ones.

        `due` is the `next_fetch` that the feed had when it was leased. If `hasten` has changed it
        since, the earlier of the two new ones is stored.

        Returns False, and stores nothing, if the lease that ended at `leased_until` is over and
        somebody else has it, or if the feed was deleted. The stored `wanted` stays.
        """
        guid = self._rows.write_guid(feed.guid)
        row = (feed.url, feed.next_fetch, feed.failing, known_column(feed), due)

        async def save(statements: Statements) -> bool:
            is_held = await statements.update(_SAVE, guid, leased_until, *row) > 0
            if is_held and picture is not None:
                await statements.execute(_SAVE_PICTURE, guid, *picture_row(picture))
            if is_held and episodes is not None:
                column = episodes_column(episodes.episodes)
                await statements.execute(_SAVE_EPISODES, guid, column)
            return is_held

        return await self._driver.write(save)

    async def renew(self, feeds: Collection[Feed]) -> None:
        """Store the data of feeds as given, and end their leases.

        Fetches in progress then save nothing. Deleted feeds stay deleted.
        """
        write = self._rows.write_guid
        rows = [
            (write(f.guid), f.url, f.wanted, f.next_fetch, f.failing, known_column(f))
            for f in feeds
        ]
        await self._driver.write_rows(_RENEW, rows)

    async def release(self, guids: Collection[Guid], leased_until: Stamp) -> None:
        """End leases without a fetch: the feeds wait as before."""
        rows = [(self._rows.write_guid(guid),) for guid in guids]
        await self._driver.write_rows(_GIVE_BACK, rows, leased_until)

    async def next_fetch(self) -> Stamp | None:
        """Return the time at which a feed is due next, or a lease ends; None without feeds."""
        moment: Stamp | None = (await self._driver.read(_NEXT_FETCH))[0][0]
        return moment

    async def picture(self, guid: Guid) -> Picture | None:
        """Return the picture of a feed; None if it has none."""
        rows = await self._driver.read(_PICTURE, self._rows.write_guid(guid))
        return picture_of(rows[0]) if rows else None

    async def episodes(self, guids: Collection[Guid]) -> dict[Guid, tuple[Episode, ...]]:
        """Return the stored episodes of feeds, the newest first; feeds without any are omitted."""
        rows = await self._driver.find_guids(_EPISODES, guids)
        return {self._rows.read_guid(guid): episodes_of(column) for guid, column in rows}

    async def forget(self, wanted_before: Stamp, limit: int) -> int:
        """Delete up to `limit` feeds not wanted since `wanted_before`; return their number."""
        rows = await self._driver.read(_UNWANTED, wanted_before, limit)
        return await self._driver.write_rows(_FORGET, rows, wanted_before)

    async def subscribed(
        self, after: AccountId, limit: int
    ) -> tuple[AccountId | None, list[tuple[AccountId, Subscription]]]:
        """Return all live subscriptions of the next accounts after `after`, by rising id.

        These are as many accounts as have up to `limit` subscriptions together, but at least one;
        and the last of these accounts, after which to continue; None if no account follows `after`.
        """
        rows = await self._driver.scan(_SOME_ACCOUNTS, after, MAX_ACCOUNTS)
        if not rows:
            return None, []
        counts = next_accounts([(AccountId(row[0]), row[1]) for row in rows], limit)
        with_any = [account_id for account_id, count in counts if count]
        at_once = 1 if self._driver.is_distributed else MAX_ACCOUNTS
        found: list[Row] = []
        for some in in_parts(with_any, at_once):
            found += await self._driver.scan(_SUBSCRIBED, self._rows.write_numbers(some))
        return counts[-1][0], await in_thread_if(
            len(found) > LONG_LIST,
            lambda: [(AccountId(row[0]), self._rows.subscription_of(row[1:])) for row in found],
        )

    def _feeds_of(self, rows: Sequence[Row]) -> list[Feed]:
        return [feed_of(self._rows.read_guid(row[0]), row) for row in rows]
