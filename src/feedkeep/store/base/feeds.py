"""Storage of fetched feed data, which belongs to no account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from feedkeep.model import AccountId, Feed, Guid, NewSubscriber, Picture, Stamp, Subscription


class Feeds(Protocol):
    """The stored data of feeds, by the guids derived from their URLs.

    Several processes share the fetching: each leases a feed first.
    """

    async def want(
        self, urls: Mapping[Guid, str], now: Stamp, turns: Mapping[Guid, Stamp] | None = None
    ) -> None:
        """Record that feeds have subscribers.

        New feeds are fetched in their `turns`, or next if they have no turn. Of a stored feed, only
        `wanted` becomes `now`, and only if it is a day old or more.
        """

    async def known(self, guids: Collection[Guid]) -> Mapping[Guid, Feed]:
        """Return the stored data of feeds; feeds without data are omitted."""

    async def hasten(self, new_subscribers: Collection[NewSubscriber], now: Stamp) -> None:
        """Fetch stored feeds earlier, unless their `next_fetch` has changed since.

        A feed that is leased at `now` is fetched again `AFTER_LEASE_US` later if the lease ends at
        `began_before` or earlier: that fetch may have begun before the account subscribed.
        """

    async def lease(
        self,
        now: Stamp,
        until: Stamp,
        limit: int,
        between: tuple[Stamp, Stamp] | None = None,
    ) -> Sequence[Feed]:
        """Lease up to `limit` due feeds until `until`, the longest overdue first.

        If `between` is given, their `next_fetch` lies from its first stamp to its second, and not
        after `now`. Nobody else can lease them before `until`.
        """

    async def save(
        self,
        feed: Feed,
        leased_until: Stamp,
        picture: Picture | None = None,
        due: Stamp | None = None,
    ) -> bool:
        """Store the data of a feed, end its lease, and replace its picture if there is a new one.

        `due` is the `next_fetch` that the feed had when it was leased. If `hasten` has changed it
        since, the earlier of the two new ones is stored.

        Returns False, and stores nothing, if the lease that ended at `leased_until` is over and
        somebody else has it, or if the feed was deleted. The stored `wanted` stays.
        """

    async def renew(self, feeds: Collection[Feed]) -> None:
        """Store the data of feeds as given, and end their leases.

        Fetches in progress then save nothing. Deleted feeds stay deleted.
        """

    async def release(self, guids: Collection[Guid], leased_until: Stamp) -> None:
        """End leases without a fetch: the feeds wait as before."""

    async def next_fetch(self) -> Stamp | None:
        """Return the time at which a feed is due next, or a lease ends; None without feeds."""

    async def picture(self, guid: Guid) -> Picture | None:
        """Return the picture of a feed; None if it has none."""

    async def forget(self, wanted_before: Stamp, limit: int) -> int:
        """Delete up to `limit` feeds not wanted since `wanted_before`; return their number."""

    async def subscribed(
        self, after: AccountId, limit: int
    ) -> tuple[AccountId | None, Sequence[tuple[AccountId, Subscription]]]:
        """Return all live subscriptions of the next accounts after `after`, by rising id.

        These are as many accounts as have up to `limit` subscriptions together, but at least one;
        and the last of these accounts, after which to continue; None if no account follows `after`.
        """
