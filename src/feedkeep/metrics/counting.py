"""Count stored data in small steps, and check that a process is ready.

Counting millions of rows at each scrape would cost more than all other requests.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

import structlog

from feedkeep.model import AccountId, FeedHealth, Guid, Now, Purpose
from feedkeep.runtime.tasks import end
from feedkeep.store.base import Store

ROWS_IN_A_STEP = 500
SECONDS_BETWEEN_STEPS = 0.2
SECONDS_BETWEEN_ROUNDS = 60.0

_BEFORE_ALL_FEEDS = Guid("00000000-0000-0000-0000-000000000000")

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(slots=True)
class Counted:
    """Totals of one round.

    Attributes:
        former_states: Total weight of the former states of all lists.
        sessions: Number of active sessions, by purpose.
        feeds: Number of feeds, by health.
    """

    accounts: int = 0
    former_states: int = 0
    sessions: Counter[Purpose] = field(default_factory=Counter)
    feeds: Counter[FeedHealth] = field(default_factory=Counter)


class Counting:
    """Counts all accounts and feeds continuously while its context is entered.

    Attributes:
        last: Totals of the last complete round; None before the first.
    """

    def __init__(self, store: Store, now: Now) -> None:
        self._store = store
        self._now = now
        self.last: Counted | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._go_round())
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(self._task)

    async def count(self) -> Counted:
        """Count everything once."""
        counted = Counted()
        after = AccountId(0)
        while True:
            accounts = await self._store.totals.of_accounts(after, ROWS_IN_A_STEP, self._now())
            if accounts is None:
                break
            after = accounts.last
            counted.accounts += accounts.accounts
            counted.former_states += accounts.former_states
            counted.sessions.update(accounts.sessions)
            await asyncio.sleep(SECONDS_BETWEEN_STEPS)
        after_feed = _BEFORE_ALL_FEEDS
        while True:
            feeds = await self._store.totals.of_feeds(after_feed, ROWS_IN_A_STEP)
            if feeds is None:
                break
            after_feed = feeds.last
            counted.feeds.update(feeds.health)
            await asyncio.sleep(SECONDS_BETWEEN_STEPS)
        return counted

    async def _go_round(self) -> None:
        while True:
            try:
                self.last = await self.count()
            except Exception as error:  # noqa: BLE001 - any error; the next round tries again
                _log.warning("cannot count stored data; will retry", reason=repr(error))
            await asyncio.sleep(SECONDS_BETWEEN_ROUNDS)


MAX_SECONDS = 3.0
"""Timeout of the store; Prometheus's default timeout for the whole response is 10 seconds."""


class Readiness:
    """Last known state of the store.

    Stricter than /readyz, which load balancers follow and which stays 200 while lists can be read.

    Attributes:
        is_ready: Whether the store could be read and written, and had all rights to its tables.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_ready = False

    async def ask(self) -> None:
        """Check the store; raises nothing."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                await self._store.assert_ready()
                self.is_ready = not await self._store.missing_rights()
        except Exception as error:  # noqa: BLE001 - whatever it is, the process is not ready
            if self.is_ready:
                _log.warning("not ready", reason=repr(error))
            self.is_ready = False
