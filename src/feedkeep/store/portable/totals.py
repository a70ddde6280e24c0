"""Totals of the stored data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from feedkeep.model import AccountId, FeedHealth, Guid, Purpose, Stamp
from feedkeep.store.driver import Driver
from feedkeep.store.sql import AND_NOT_DELETED, sql

_ACCOUNTS = sql(f"""
SELECT a.account_id, a.former_count FROM feedkeep.account a
WHERE a.account_id > $1 {AND_NOT_DELETED} ORDER BY a.account_id LIMIT $2
""")
_SESSIONS = sql("""
SELECT t.purpose, count(*) FROM feedkeep.token t
WHERE t.account_id > $1 AND t.account_id <= $2 AND t.is_session AND t.revoked IS NULL
AND (t.expires IS NULL OR t.expires > $3) GROUP BY t.purpose
""")
_FEEDS = sql("""
SELECT f.guid, f.failing IS NOT NULL, f.known IS NULL FROM feedkeep.feed f
WHERE f.guid > $1 ORDER BY f.guid LIMIT $2
""")
LOOKS = (_ACCOUNTS, _SESSIONS, _FEEDS)
"""The statements; on a cluster, each only reads rows of all machines."""


@dataclass(frozen=True, slots=True)
class SomeAccounts:
    """Totals of some accounts.

    Attributes:
        former_states: Sum of the weights of the former states of their lists.
        sessions: Number of their active sessions, by purpose.
    """

    last: AccountId
    accounts: int
    former_states: int
    sessions: Mapping[Purpose, int]


@dataclass(frozen=True, slots=True)
class SomeFeeds:
    """Totals of some feeds.

    Attributes:
        health: Number of feeds by health.
    """

    last: Guid
    health: Mapping[FeedHealth, int]


class Totals:
    """Totals of the stored data. Each step reads a few rows by key, and delays no request."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def of_accounts(self, after: AccountId, limit: int, now: Stamp) -> SomeAccounts | None:
        """Count the next `limit` accounts by rising id; None if no account follows `after`."""
        accounts = await self._driver.scan(_ACCOUNTS, after, limit)
        if not accounts:
            return None
        last = AccountId(accounts[-1][0])
        rows = await self._driver.scan(_SESSIONS, after, last, now)
        sessions = {Purpose(purpose): number for purpose, number in rows}
        return SomeAccounts(last, len(accounts), sum(row[1] for row in accounts), sessions)

    async def of_feeds(self, after: Guid, limit: int) -> SomeFeeds | None:
        """Count the next `limit` feeds by rising guid; None if no feed follows `after`."""
        guids = self._driver.rows
        rows = await self._driver.scan(_FEEDS, guids.write_guid(after), limit)
        if not rows:
            return None
        health = Counter(_health(is_failing=row[1], is_unknown=row[2]) for row in rows)
        return SomeFeeds(guids.read_guid(rows[-1][0]), health)


def _health(*, is_failing: bool, is_unknown: bool) -> FeedHealth:
    if is_failing:
        return FeedHealth.FAILING
    return FeedHealth.NEW if is_unknown else FeedHealth.READ
