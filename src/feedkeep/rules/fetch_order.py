"""The order of fetching feeds, so that no account and no slow host delays the others. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TypeVar

from feedkeep.model import AccountId, Feed, Guid, Stamp
from feedkeep.rules.clock import DAY_US, later

FIRST_DUE = Stamp(10**15)
"""Below it, `Feed.next_fetch` is the turn of a feed that was just added, and not a moment."""

PAYERS = 10**6
"""Number of the different payers: the last digits of a turn are those of the account's id."""

MAX_ACCOUNTS = 10_000
"""For how many accounts the last turn is remembered; others begin at the turn that is served."""

MAX_HOSTS = MAX_PUT_OFF = 10_000
"""Of how many hosts and feeds it is remembered how they were put off."""

USUAL_FETCH_US = 500_000
"""How long a host is assumed to take that was not asked yet."""

MAX_FETCH_US = 60_000_000
MAX_REST_US = DAY_US
"""For how long a host is left alone at most: one feed of many must not silence it for a month."""

MAX_WAIT_US = 600_000_000
"""For how long a feed is put off at most, each time after the first."""

_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


class Lane(StrEnum):
    """Feeds that wait for each other before they are fetched.

    Attributes:
        NEW: An account has just added the feed, which waits for its turn.
        PUT_OFF: The feed was new, and was put off since its host had many others.
        QUICK: The last fetch succeeded, and took no longer than `feed_schedule.SLOW_SECONDS`.
        SLOW: The last fetch failed, or took longer.
    """

    NEW = "new"
    PUT_OFF = "put off"
    QUICK = "quick"
    SLOW = "slow"


def lane_of(feed: Feed) -> Lane:
    """Return the lane in which a feed waits."""
    if feed.next_fetch < FIRST_DUE:
        return Lane.NEW
    if feed.looked is None:
        return Lane.PUT_OFF
    is_quick = feed.failure is None and not feed.is_slow
    return Lane.QUICK if is_quick else Lane.SLOW


def payer_of(feed: Feed) -> int | None:
    """Return the payer for the first fetch of a feed that was just added; None for others."""
    return feed.next_fetch % PAYERS if 0 < feed.next_fetch < FIRST_DUE else None


def minutes_put_off(feed: Feed, chance: float) -> int:
    """Return for how many minutes to put off a feed that was fetched before and finds no room.

    `chance` is a number from 0 to 1. Each time costs a write: there can be many slow feeds, and
    little is lost if they wait.
    """
    return int((10 if lane_of(feed) is Lane.SLOW else 1) * (1 + 5 * chance))


def next_lane(
    waiting: Collection[Lane], busy: Mapping[Lane, int], served: Mapping[Lane, int], slots: int
) -> Lane | None:
    """Return the lane that gets a free slot; None if none may have one.

    The lane with the fewest slots gets it; of several, the one that was `served` longest ago. One
    of several slots is only for feeds whose last fetch was quick: hosts that are slow on purpose
    can be any number, and would hold all slots.
    """
    if sum(busy.values()) >= slots:
        return None
    others = sum(count for lane, count in busy.items() if lane is not Lane.QUICK)
    is_reserved = slots > 1 and others >= slots - 1
    may = [lane for lane in waiting if lane is Lane.QUICK or not is_reserved]
    return min(may, key=lambda lane: (busy.get(lane, 0), served.get(lane, 0)), default=None)


class FairTurns:
    """Turns for the feeds that accounts add: each account's next feed, and then each one's again.

    An account that adds one feed waits for one of each other account, however many these have
    added before (start-time fair queueing). Turns are small numbers, and are stored in place of
    the moment at which a feed is due: so they survive a restart. Until its first fetch, the
    row of a feed has some digits of the account's id, for whatever process fetches it: `payer_of`.
    """

    def __init__(self) -> None:
        self._served = 0
        self._last: OrderedDict[AccountId, int] = OrderedDict()

    def next_of(self, account_id: AccountId) -> Stamp:
        """Return the turn of one more feed that an account adds."""
        turn = max(self._last.get(account_id, 0), self._served) + 1
        remember(self._last, account_id, turn, MAX_ACCOUNTS)
        return Stamp(min(turn, FIRST_DUE // PAYERS - 1) * PAYERS + account_id % PAYERS)

    def ahead_of(self, feed: Feed) -> int:
        """Return how many feeds each account may have fetched before a new one, and this one."""
        return max(feed.next_fetch // PAYERS - self._served, 1)

    def begun(self, feed: Feed) -> None:
        """Note that a feed is being fetched: feeds that are added from now on come after it."""
        if feed.next_fetch < FIRST_DUE:
            self._served = max(self._served, feed.next_fetch // PAYERS)

    def all_begun(self) -> None:
        """Note that no feed waits, whichever process has fetched them: accounts begin equally."""
        self._last.clear()

    def waiting_from(self, first: Stamp | None) -> None:
        """Note when the first feed is due, for a process whose feeds another one fetches."""
        if first is None or first >= FIRST_DUE:
            self.all_begun()
        else:
            self._served = max(self._served, first // PAYERS - 1)


class HostQueues:
    """When feeds are due that were just added and found no place at their hosts.

    Those of a host come one after another, as fast as it answers. A feed of an account that has
    added many waits behind all that were put off; one whose turn comes earlier goes between them.
    """

    def __init__(self) -> None:
        self._ends: OrderedDict[str, Stamp] = OrderedDict()
        self._fetch_us: OrderedDict[str, int] = OrderedDict()
        self._ahead: OrderedDict[Guid, int] = OrderedDict()
        self._rests: OrderedDict[str, Stamp] = OrderedDict()

    def leave_alone(self, host: str, us: int, now: Stamp) -> None:
        """Note that a host has refused a fetch, and for how long it wants none (`Retry-After`)."""
        remember(self._rests, host, later(now, min(us, MAX_REST_US)), MAX_HOSTS)

    def rest_us(self, host: str, now: Stamp) -> int:
        """Return for how long a host wants no fetch, of whatever feed; 0 if it may be asked."""
        return max(self._rests.get(host, now) - now, 0)

    def fetched(self, host: str, us: int) -> None:
        """Note how long a fetch of a host took."""
        remember(self._fetch_us, host, min(us, MAX_FETCH_US), MAX_HOSTS)

    def rank(self, feed: Feed) -> int:
        """Return a number that is smaller for a feed that goes before another one of its lane.

        That is its turn; or how many turns there were before its own when it was put off, so that
        an account that has added few goes first; otherwise the moment at which it is due.
        """
        if lane_of(feed) is Lane.PUT_OFF:
            return self._ahead.get(feed.guid, FIRST_DUE)
        return feed.next_fetch

    def due(self, host: str, feed: Feed, now: Stamp, ahead: int) -> Stamp:
        """Return when a feed is due that finds no place at its host now.

        `ahead` is how many turns there are until its own. A feed that was put off before, and so
        has none, waits half as long again as so far: its host has more feeds than it can be asked
        for, and each time costs a write.
        """
        us = self._fetch_us.get(host, USUAL_FETCH_US)
        if feed.next_fetch >= FIRST_DUE:
            return later(now, max(us, min((now - feed.wanted) // 2, MAX_WAIT_US)))
        end = max(self._ends.get(host, now), now)
        due = min(later(end, us), later(now, ahead * us))
        remember(self._ends, host, max(end, due), MAX_HOSTS)
        remember(self._ahead, feed.guid, ahead, MAX_PUT_OFF)
        return due


def remember(known: OrderedDict[_Key, _Kept], key: _Key, value: _Kept, at_most: int) -> None:
    """Keep a value, and forget the oldest of more than `at_most`."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > at_most:
        known.popitem(last=False)
