"""Limits on the bytes that accounts make this service receive by adding feeds. Pure."""

from __future__ import annotations

from collections import OrderedDict

from feedkeep.model import Feed, Guid, Stamp
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.fetch_order import MAX_ACCOUNTS, MAX_PUT_OFF, payer_of, remember

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
        """Charge a fetch, if it was the first one since an account added the feed."""
        payer = self._payer(feed)
        if payer is not None:
            spent = self._spent_today(payer, now) + size_bytes
            remember(self._spent, payer, (now // DAY_US, spent), MAX_ACCOUNTS)
        self._payers.pop(feed.guid, None)

    def _payer(self, feed: Feed) -> int | None:
        payer = payer_of(feed)
        return self._payers.get(feed.guid) if payer is None else payer

    def _spent_today(self, payer: int, now: Stamp) -> int:
        day, spent = self._spent.get(payer, (0, 0))
        return spent if day == now // DAY_US else 0
