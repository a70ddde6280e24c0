"""The order of fetching feeds, so that no account and no slow host delays the others. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TypeVar

from feedkeep.model import AccountId, Feed, FetchResult, Guid, Stamp
from feedkeep.rules.clock import DAY_US, SECOND_US, shift
from feedkeep.rules.feed_urls import host_of

FIRST_DUE = Stamp(10**15)
"""Below it, `Feed.next_fetch` is the turn of a newly added feed, and not a time."""

PAYERS = 10**6
"""Number of distinct payers: the last digits of a turn are the last digits of the account's id."""

MAX_ACCOUNTS = 10_000
"""Number of accounts whose last turn is remembered; others begin at the turn being served."""

MAX_HOSTS = MAX_PUT_OFF = 10_000
"""Number of hosts and feeds whose postponement is remembered."""

USUAL_FETCH_US = 500_000
"""Assumed duration of a fetch from a host that was not requested yet."""

MAX_FETCH_US = 60_000_000
MAX_REST_US = DAY_US
"""Maximum pause of a host: one feed of many must not silence it for a month."""

MAX_WAIT_US = 600_000_000
"""Maximum postponement of a feed, each time after the first."""

_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


class Lane(StrEnum):
    """A queue of feeds to fetch.

    Attributes:
        NEW: An account has just added the feed, which waits for its turn.
        PUT_OFF: The feed was new, and was postponed since its host had many others.
        QUICK: The last fetch succeeded, and took no longer than `feed_schedule.SLOW_SECONDS`.
        SLOW: The last fetch failed, or took longer.
    """

    NEW = "new"
    PUT_OFF = "put off"
    QUICK = "quick"
    SLOW = "slow"


def lane_of(feed: Feed) -> Lane:
    if feed.next_fetch < FIRST_DUE:
        return Lane.NEW
    if feed.looked is None:
        return Lane.PUT_OFF
    is_quick = feed.failure is None and not feed.is_slow
    return Lane.QUICK if is_quick else Lane.SLOW


def payer_of(feed: Feed) -> int | None:
    """Return the payer of the first fetch of a newly added feed; None for other feeds."""
    return feed.next_fetch % PAYERS if 0 < feed.next_fetch < FIRST_DUE else None


def minutes_put_off(feed: Feed, chance: float) -> int:
    """Return the minutes to postpone a feed that was fetched before and finds no slot.

    `chance` is a number from 0 to 1. Each postponement costs a write; there can be many slow feeds,
    and little is lost if they wait.
    """
    return int((10 if lane_of(feed) is Lane.SLOW else 1) * (1 + 5 * chance))


def next_lane(
    waiting: Collection[Lane], busy: Mapping[Lane, int], served: Mapping[Lane, int], slots: int
) -> Lane | None:
    """Return the lane that gets a free slot; None if no lane may have one.

    That is the lane with the fewest slots; among several, the one `served` longest ago. If there
    are several slots, one is reserved for feeds whose last fetch was quick: any number of hosts can
    be slow on purpose, and would use all slots.
    """
    if sum(busy.values()) >= slots:
        return None
    others = sum(count for lane, count in busy.items() if lane is not Lane.QUICK)
    is_reserved = slots > 1 and others >= slots - 1
    may = [lane for lane in waiting if lane is Lane.QUICK or not is_reserved]
    return min(may, key=lambda lane: (busy.get(lane, 0), served.get(lane, 0)), default=None)


class FairTurns:
    """Turns for the feeds that accounts add, in rounds: one feed of each account per round.

    An account that adds one feed waits for one feed of each other account, however many these have
    added before (start-time fair queueing). Turns are small numbers, stored in place of a feed's
    due time, and so survive a restart. Until its first fetch, the row of a feed has some digits of
    the account's id, for whichever process fetches it: `payer_of`.
    """

    def __init__(self) -> None:
        self._served = 0
        self._last: OrderedDict[AccountId, int] = OrderedDict()

    def next_of(self, account_id: AccountId) -> Stamp:
        """Return the turn of the next feed that an account adds."""
        turn = max(self._last.get(account_id, 0), self._served) + 1
        remember(self._last, account_id, turn, MAX_ACCOUNTS)
        return Stamp(min(turn, FIRST_DUE // PAYERS - 1) * PAYERS + account_id % PAYERS)

    def ahead_of(self, feed: Feed) -> int:
        """Return the number of turns up to and including a new feed's."""
        return max(feed.next_fetch // PAYERS - self._served, 1)

    def begun(self, feed: Feed) -> None:
        """Record that a feed is being fetched: feeds added later come after it."""
        if feed.next_fetch < FIRST_DUE:
            self._served = max(self._served, feed.next_fetch // PAYERS)

    def all_begun(self) -> None:
        """Record that no feed waits, whichever process fetched them: accounts begin equally."""
        self._last.clear()

    def waiting_from(self, first: Stamp | None) -> None:
        """Record the turn of the first waiting feed, in a process that fetches none itself."""
        if first is None or first >= FIRST_DUE:
            self.all_begun()
        else:
            self._served = max(self._served, first // PAYERS - 1)


class HostQueues:
    """Due times of newly added feeds that their busy hosts cannot serve yet.

    The feeds of a host follow one another as fast as it responds. A feed of an account that has
    added many waits behind all postponed feeds; a feed with an earlier turn goes between them.
    """

    def __init__(self) -> None:
        self._ends: OrderedDict[str, Stamp] = OrderedDict()
        self._fetch_us: OrderedDict[str, int] = OrderedDict()
        self._ahead: OrderedDict[Guid, int] = OrderedDict()
        self._rests: OrderedDict[str, Stamp] = OrderedDict()

    def leave_alone(self, host: str, us: int, now: Stamp) -> None:
        """Record a host's `Retry-After`."""
        remember(self._rests, host, shift(now, min(us, MAX_REST_US)), MAX_HOSTS)

    def rest_us(self, host: str, now: Stamp) -> int:
        """Return the remaining pause of a host, for all its feeds; 0 if it may be requested."""
        return max(self._rests.get(host, now) - now, 0)

    def fetched(self, host: str, us: int) -> None:
        """Record the duration of a fetch from a host."""
        remember(self._fetch_us, host, min(us, MAX_FETCH_US), MAX_HOSTS)

    def rank(self, feed: Feed) -> int:
        """Return the sort key of a feed within its lane, smallest first.

        For a new feed that is its turn, otherwise its due time. For a postponed feed it is the
        number of turns before its own at that time, so that an account that has added few goes
        first.
        """
        if lane_of(feed) is Lane.PUT_OFF:
            return self._ahead.get(feed.guid, FIRST_DUE)
        return feed.next_fetch

    def due(self, host: str, feed: Feed, now: Stamp, ahead: int) -> Stamp:
        """Return the due time of a feed that its host cannot serve now.

        `ahead` is the number of turns until its own. A feed that was postponed before, and so has
        no turn, waits half as long again as it has waited so far: its host has too many feeds, and
        each postponement costs a write.
        """
        us = self._fetch_us.get(host, USUAL_FETCH_US)
        if feed.next_fetch >= FIRST_DUE:
            return shift(now, max(us, min((now - feed.wanted) // 2, MAX_WAIT_US)))
        end = max(self._ends.get(host, now), now)
        due = min(shift(end, us), shift(now, ahead * us))
        remember(self._ends, host, max(end, due), MAX_HOSTS)
        remember(self._ahead, feed.guid, ahead, MAX_PUT_OFF)
        return due


def remember(known: OrderedDict[_Key, _Kept], key: _Key, value: _Kept, at_most: int) -> None:
    """Store a value, and remove the oldest one of more than `at_most`."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > at_most:
        known.popitem(last=False)


DAILY_BYTES = 1024 * 1024 * 1024
"""Maximum size of the first fetches of an account's feeds in a day.

That is a MiB for each of a thousand podcasts, with its picture.
"""


class FetchBudgets:
    """Charges the first fetch of a feed to the account that added it, in this process.

    The account is known from the feed's turn, and while the feed is postponed.
    """

    def __init__(self) -> None:
        self._spent: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._payers: OrderedDict[Guid, int] = OrderedDict()

    def postpone(self, feed: Feed) -> None:
        """Remember the payer of a feed that loses its turn."""
        if (payer := payer_of(feed)) is not None:
            remember(self._payers, feed.guid, payer, MAX_PUT_OFF)

    def rest_us(self, feed: Feed, now: Stamp) -> int:
        """Return the time to postpone a feed: a day if its account has spent its bytes, or 0."""
        payer = self._payer(feed)
        if payer is None or self._spent_today(payer, now) < DAILY_BYTES:
            return 0
        return DAY_US

    def charge(self, feed: Feed, size_bytes: int, now: Stamp) -> None:
        """Charge a fetch, if it was the first one since an account added the feed.

        A look has a turn of its own, so a postponed feed keeps its payer.
        """
        payer = payer_of(feed)
        if payer is None:
            payer = self._payers.pop(feed.guid, None)
        if payer is not None:
            spent = self._spent_today(payer, now) + size_bytes
            remember(self._spent, payer, (now // DAY_US, spent), MAX_ACCOUNTS)

    def _payer(self, feed: Feed) -> int | None:
        payer = payer_of(feed)
        return self._payers.get(feed.guid) if payer is None else payer

    def _spent_today(self, payer: int, now: Stamp) -> int:
        day, spent = self._spent.get(payer, (0, 0))
        return spent if day == now // DAY_US else 0


class FetchLimits:
    """Limits on the fetches of this process: the pauses of hosts, and the bytes of accounts.

    Attributes:
        queues: Due times and pauses by host.
        budgets: Bytes of first fetches by account.
    """

    def __init__(self) -> None:
        self.queues = HostQueues()
        self.budgets = FetchBudgets()

    def rest_us(self, feed: Feed, now: Stamp) -> int:
        """Return the time to postpone a feed in microseconds; 0 if it may be fetched."""
        host_us = self.queues.rest_us(host_of(feed.url), now)
        return max(host_us, self.budgets.rest_us(feed, now))

    def fetched(self, feed: Feed, looked: FetchResult, now: Stamp) -> None:
        """Record a fetch: charge its account, and keep the pause that its host asks for."""
        self.budgets.charge(feed, looked.received_bytes, now)
        if looked.failure is not None and looked.retry_after_seconds:
            us = looked.retry_after_seconds * SECOND_US
            self.queues.leave_alone(host_of(feed.url), us, now)
