"""Storing what the owners of lists call their feeds, and the folders that these are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from feedkeep.model import AccountId, FeedLabel, Labelled

DecideLabels: TypeAlias = Callable[[Sequence[Labelled]], Sequence[FeedLabel]]
"""Returns the labels to save; is given all that the account has. No guid occurs twice."""


class FeedLabels(Protocol):
    """The labels of feeds; no change of a list reads or writes them."""

    async def of(self, account_id: AccountId) -> Sequence[Labelled]:
        """Return all labels of an account by rising guid, except those whose guid is unknown."""

    async def change(self, account_id: AccountId, decide: DecideLabels) -> None:
        """Load all labels of an account, and save those that `decide` returns, in one commit.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """
