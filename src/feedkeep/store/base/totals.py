"""Counting what is stored, in steps, for metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from feedkeep.model import AccountId, FeedHealth, Guid, Purpose, Stamp


@dataclass(frozen=True, slots=True)
class SomeAccounts:
    """What was counted of some accounts.

    Attributes:
        last: The last one of them.
        accounts: How many they are.
        former_states: Sum of the weights of the former states of their lists.
        sessions: How many sessions they have that have not ended, by purpose.
    """

    last: AccountId
    accounts: int
    former_states: int
    sessions: Mapping[Purpose, int]


@dataclass(frozen=True, slots=True)
class SomeFeeds:
    """What was counted of some feeds.

    Attributes:
        last: The last one of them.
        health: How many there are of each.
    """

    last: Guid
    health: Mapping[FeedHealth, int]


class Totals(Protocol):
    """How much is stored. Each step reads a few rows by key, and delays no request."""

    async def of_accounts(self, after: AccountId, limit: int, now: Stamp) -> SomeAccounts | None:
        """Count the next `limit` accounts by rising id; None if there is none after `after`."""

    async def of_feeds(self, after: Guid, limit: int) -> SomeFeeds | None:
        """Count the next `limit` feeds by rising guid; None if there is none after `after`."""
