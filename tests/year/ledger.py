"""Expected state of an account: a naive account that is given each executed request."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from reference import Account, Feed, derive

from feedkeep.model import Entry, Pointer, Subscription

Known = tuple[str, str, bool, bool]
"""A feed as it once was: its guid, its URL, and whether it was subscribed to, and deleted."""

REMEMBERED_US = 100 * 86_400_000_000


@dataclass(frozen=True)
class Kept:
    """A copy of a ledger."""

    feeds: list[Feed]
    lists: dict[int, tuple[Known, ...]]
    positions: dict[tuple[str, str], int]


class Ledger(Account):
    """The naive account, with what apps upload and what was played.

    Of the past it remembers flat lists, which share what did not change.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lists: dict[int, tuple[Known, ...]] = {0: ()}  # by the stamp up to which each lasted
        self.positions: dict[tuple[str, str], int] = {}
        self.wishes = self.in_doubt = 0

    def keep(self) -> Kept:
        """Return a copy, as a backup has one."""
        return Kept(deepcopy(self.feeds), dict(self.lists), dict(self.positions))

    def go_back(self, kept: Kept) -> None:
        """Be as that copy again."""
        self.feeds, self.lists = deepcopy(kept.feeds), dict(kept.lists)
        self.positions = dict(kept.positions)

    def remember(self, stamp: int) -> None:
        """Keep the list that the account's clock shows with a stamp; forget what is very old."""
        before = dict.fromkeys(next(reversed(self.lists.values())))
        known = {feed: feed for feed in before}
        now = [(feed.guid, feed.url, feed.on, feed.deleted) for feed in self.feeds]
        self.lists[stamp] = tuple(known.get(feed, feed) for feed in now)
        stamps = list(self.lists)
        while len(stamps) > 1 and stamps[1] < stamp - REMEMBERED_US:
            del self.lists[stamps.pop(0)]

    def list_at(self, moment: int) -> tuple[Known, ...]:
        return self.lists[max(stamp for stamp in self.lists if stamp <= moment)]

    def subscribed(self) -> set[str]:
        return {feed.guid for feed in self.feeds if feed.on}

    def upload(
        self, added: Iterable[str], unwanted: Iterable[str], has: Collection[str]
    ) -> tuple[list[Feed], list[Feed]]:
        """Carry out an upload: `unwanted` is what the owner removed, `has` the app's list then.

        An owner who removes one of two URLs of a feed in the app keeps the other one. Returns
        the feeds that were left, and those of them that two feeds became: of an app that has these,
        the service may be in doubt whether it has the other URL still.
        """
        wanted = [self.leads(derive(url)) for url in added]
        still = [self.leads(derive(url)) for url in has]
        left = []
        for url in unwanted:
            feed = self.leads(derive(url))
            if feed is not None and feed.on and feed not in wanted and feed not in still:
                feed.on = False
                left.append(feed)
                self.wishes += 1
        for url in added:
            self.add(url, None)
        return left, [feed for feed in left if feed.merged]

    def adopt(self, doubtful: Iterable[Feed], entries: Iterable[Entry]) -> None:
        """Adopt subscriptions that the service left since it was in doubt."""
        subscribed = {feed[0] for feed in known(entries) if feed[2]}
        for feed in doubtful:
            self.in_doubt += feed.guid in subscribed
            feed.on = feed.guid in subscribed

    def record(self, episode: str, device: str, position: int) -> None:
        """Record a device's position in an episode; positions rise with time."""
        self.positions[episode, device] = max(position, self.positions.get((episode, device), 0))

    def positions_of(self, actions: Iterable[Any]) -> dict[tuple[str, str], int]:
        """Return the positions in actions of a service.

        Two feeds that were one for a while can both have an episode; the later play counts.
        """
        found: dict[tuple[str, str], int] = {}
        for one in actions:
            played = one.episode, one.device
            found[played] = max(one.position, found.get(played, 0))
        return found

    def differences(self, entries: Sequence[Entry]) -> list[str]:
        """Return the differences of a service's entries."""
        subscriptions = [one for one in entries if isinstance(one, Subscription)]
        pointers = [one for one in entries if isinstance(one, Pointer)]
        aliases = [(guid, f.guid, told) for f in self.feeds for guid, told in f.aliases.items()]
        told = ((one.guid, one.new_guid, one.guid_changed is not None) for one in pointers)
        ours = {(feed.guid, feed.url, feed.on, feed.deleted) for feed in self.feeds}
        return [*_differing("feed", ours, known(subscriptions)),
                *_differing("pointer", set(aliases), set(told))]  # fmt: skip


def known(entries: Iterable[Entry]) -> set[Known]:
    """Return the feeds among entries as they are."""
    return {
        (one.guid, one.feed_url, one.is_subscribed, one.deleted is not None)
        for one in entries
        if isinstance(one, Subscription)
    }


def _differing(what: str, right: set[Any], found: set[Any]) -> list[str]:
    missing = [f"{what} missing: {one}" for one in sorted(right - found)]
    return missing + [f"{what} not right: {one}" for one in sorted(found - right)]
