"""The order of fetching feeds, so that no account and no slow host delays the others. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from enum import StrEnum

from feedkeep.model import AccountId, Feed, Stamp

FIRST_DUE = Stamp(10**12)
"""Below it, `Feed.next_look` is the turn of a feed that was just added, and not a moment."""

MAX_ACCOUNTS = 10_000
"""For how many accounts the last turn is remembered; others begin at the turn that is served."""


class Lane(StrEnum):
    """Feeds that wait for each other before they are fetched.

    Attributes:
        NEW: An account has just added the feed, which waits for its turn.
        QUICK: The last fetch succeeded, and took no longer than `feed_schedule.SLOW_SECONDS`.
        SLOW: The last fetch failed, or took longer; or there was none, and the feed was put off.
    """

    NEW = "new"
    QUICK = "quick"
    SLOW = "slow"


def lane_of(feed: Feed) -> Lane:
    """Return the lane in which a feed waits."""
    if feed.next_look < FIRST_DUE:
        return Lane.NEW
    is_quick = feed.looked is not None and feed.failure is None and not feed.is_slow
    return Lane.QUICK if is_quick else Lane.SLOW


def minutes_put_off(feed: Feed, chance: float) -> int:
    """Return for how many minutes to put off a feed that finds no room.

    `chance` is a number from 0 to 1. Each time costs a write: there can be many slow feeds, and
    little is lost if they wait.
    """
    is_slow = lane_of(feed) is Lane.SLOW and feed.looked is not None
    return int((10 if is_slow else 1) * (1 + 5 * chance))


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


class Turns:
    """Turns for the feeds that accounts add: each account's next feed, and then each one's again.

    An account that adds one feed waits for one of each other account, however many these have
    added before (start-time fair queueing). Turns are small numbers, and are stored in place of
    the moment at which a feed is due: so they survive a restart, and no row names an account.
    """

    def __init__(self) -> None:
        self._served = 0
        self._last: OrderedDict[AccountId, int] = OrderedDict()

    def next_of(self, account_id: AccountId) -> Stamp:
        """Return the turn of one more feed that an account adds."""
        turn = max(self._last.pop(account_id, 0), self._served) + 1
        self._last[account_id] = turn
        if len(self._last) > MAX_ACCOUNTS:
            self._last.popitem(last=False)
        return Stamp(min(turn, FIRST_DUE - 1))

    def begun(self, feed: Feed) -> None:
        """Note that a feed is being fetched: feeds that are added from now on come after it."""
        if feed.next_look < FIRST_DUE:
            self._served = max(self._served, feed.next_look)

    def all_begun(self) -> None:
        """Note that no feed waits, whichever process has fetched them: accounts begin equally."""
        self._last.clear()
