"""Storing what the service finds out about feeds; none of it belongs to an account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from feedkeep.model import AccountId, Feed, Guid, Newcomer, Picture, Stamp, Subscription


class Feeds(Protocol):
    """What is known of feeds, by the guids derived from their URLs.

    Several processes share the work: who looks at a feed leases it first.
    """

    async def want(
        self, urls: Mapping[Guid, str], now: Stamp, turns: Mapping[Guid, Stamp] | None = None
    ) -> None:
        """Note that somebody is subscribed to feeds.

        Those that are new are looked at in their `turns`, those without a turn next. Of one that
        is known, only `wanted` becomes `now`, and only if it was a day ago or more.
        """

    async def known(self, guids: Collection[Guid]) -> Mapping[Guid, Feed]:
        """Return what is known of feeds; those are left out of which there is nothing."""

    async def hasten(self, newcomers: Collection[Newcomer], now: Stamp) -> None:
        """Let known feeds be looked at earlier, unless their `next_fetch` has changed since.

        One that is leased at `now` is looked at once more, `AFTER_LEASE_US` later, if the lease
        ends at `began_before` or earlier: that look may have begun before the newcomer came.
        """

    async def lease(
        self,
        now: Stamp,
        until: Stamp,
        limit: int,
        between: tuple[Stamp, Stamp] | None = None,
    ) -> Sequence[Feed]:
        """Return up to `limit` feeds that are to be looked at now, those first that wait longest.

        If `between` is given, their `next_fetch` lies from its first stamp to its second, and not
        after `now`. Until `until`, nobody else is given them.
        """

    async def save(
        self,
        feed: Feed,
        leased_until: Stamp,
        picture: Picture | None = None,
        due: Stamp | None = None,
    ) -> bool:
        """Store what is known of a feed, end its lease, and replace its picture if there is one.

        `due` is the `next_fetch` that the feed had when it was leased. If `hasten` has changed that
        since, the earlier of the two new ones holds.

        Returns False, and stores nothing, if the lease that ended at `leased_until` is over and
        somebody else has it, or if the feed is forgotten. What was stored of `wanted` stays.
        """

    async def renew(self, feeds: Collection[Feed]) -> None:
        """Store what is known of feeds as it is given, and end their leases.

        So whoever looks at one meanwhile saves nothing. One that is forgotten stays forgotten.
        """

    async def release(self, guids: Collection[Guid], leased_until: Stamp) -> None:
        """End leases without a look: the feeds wait as before."""

    async def next_fetch(self) -> Stamp | None:
        """Return when the next feed is to be looked at, or a lease ends; None if there is none."""

    async def picture(self, guid: Guid) -> Picture | None:
        """Return the picture of a feed, if there is one."""

    async def forget(self, wanted_before: Stamp, limit: int) -> int:
        """Forget up to `limit` feeds that nobody wanted since; return how many that were."""

    async def subscribed(
        self, after: AccountId, limit: int
    ) -> tuple[AccountId | None, Sequence[tuple[AccountId, Subscription]]]:
        """Return all live subscriptions of the next accounts after another, by rising id.

        These are as many accounts as have up to `limit` of them together, but at least one; and
        the last of these accounts, after which to go on; None if there is none after `after`.
        """
