"""Repair the clocks of accounts that a wrong wall clock has moved years ahead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from feedkeep.model import Account, Now, Restamped, Stamp
from feedkeep.rules import clock_repair
from feedkeep.security.tokens import new_epoch
from feedkeep.service.accounts import Accounts
from feedkeep.service.preferences import AccountPreferences
from feedkeep.service.progress import Progress
from feedkeep.store.base import Store


class ClockRepair:
    """Finds and repairs accounts whose clocks are far ahead of the wall clock."""

    def __init__(
        self,
        store: Store,
        accounts: Accounts,
        preferences: AccountPreferences,
        progress: Progress,
        now: Now,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._preferences = preferences
        self._progress = progress
        self._now = now

    def is_needed(self, account: Account) -> bool:
        return clock_repair.is_far_ahead(account, self._now())

    async def repair(self) -> AsyncIterator[Account]:
        """Repair all accounts with a clock far ahead; yield each as it was.

        Records with timestamps ahead get new ones, starting from the current time. Clients react as
        after a restore, and apps get a full sync.
        """
        epoch = new_epoch()
        async for page in self._accounts.by_id():
            for account in page:
                if self.is_needed(account):
                    await self._repair(account, epoch)
                    yield account

    async def _repair(self, account: Account, epoch: int) -> None:
        now = self._now()

        def decide(
            known: Account,
            known_from: Stamp,
            stamps: Collection[Stamp],
            action_stamps: Collection[Stamp],
        ) -> Restamped:
            return clock_repair.restamped(known, known_from, stamps, action_stamps, now, epoch)

        # Before `restamp`: an account that is interrupted here is found again.
        await self._preferences.undismiss_wipes_after(account.id, now)
        await self._progress.resend(account.id)
        await self._store.accounts.restamp(account.id, now, decide)
