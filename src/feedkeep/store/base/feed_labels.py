"""Storage of the titles and folders that owners give their feeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from feedkeep.model import AccountId, FeedLabel, Labelled

DecideLabels: TypeAlias = Callable[[Sequence[Labelled]], Sequence[FeedLabel]]
"""Given all labels of an account, returns the labels to save. No guid occurs twice."""


class FeedLabels(Protocol):
    """The labels of feeds; changes of a list neither read nor write them."""

    async def of(self, account_id: AccountId) -> Sequence[Labelled]:
        """Return all labels of an account by rising guid, except labels of unknown guids."""

    async def change(self, account_id: AccountId, decide: DecideLabels) -> None:
        """Load all labels of an account, and save the labels that `decide` returns, in one commit.

        Raises:
            NotAuthorized: The account is deleted.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """
