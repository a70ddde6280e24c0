"""How many more episode actions accounts may have."""

from __future__ import annotations

from feedkeep.model import AccountId
from feedkeep.rules.episode_actions import MAX_STORED
from feedkeep.store.base import Store

_MAX_REMEMBERED = 10_000


class ActionRoom:
    """Counts the actions of an account once, and then those that are added in this process.

    Others may add some meanwhile, so an account may have a few more than the maximum: what matters
    is that it does not grow without end.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._left: dict[AccountId, int] = {}

    async def left(self, account_id: AccountId, wanted: int) -> int:
        """Return how many actions an account may add; it is counted anew if that is not enough."""
        left = self._left.pop(account_id, 0)
        if left < wanted:
            left = MAX_STORED - await self._store.episode_actions.count(account_id, MAX_STORED)
        self._left[account_id] = left
        if len(self._left) > _MAX_REMEMBERED:
            del self._left[next(iter(self._left))]
        return left

    def take(self, account_id: AccountId, added: int) -> None:
        """Note that an account has added some."""
        if account_id in self._left:
            self._left[account_id] -= added
