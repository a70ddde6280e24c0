"""The stored data of an account, as copied to another store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from feedkeep.model.accounts import Account
from feedkeep.model.credentials import Token
from feedkeep.model.decisions import Deletion, EntryState
from feedkeep.model.documents import Document
from feedkeep.model.episode_actions import EpisodeAction
from feedkeep.model.feeds import FeedLabel
from feedkeep.model.values import AccountId, Stamp, TokenId, Value


class AccountRecord(Value, frozen=True):
    """The stored data of an account itself.

    Attributes:
        name_key: Its name in the form in which names are compared.
        last_token_id: The greatest number ever given to one of its tokens.
        known_from: Stamp from which every state of its list is stored.
        former_count: Sum of the weights of the stored former states of its entries.
    """

    account: Account
    name_key: str
    last_token_id: TokenId
    known_from: Stamp = Stamp(0)
    former_count: int = 0


Record: TypeAlias = (
    AccountRecord | Token | Deletion | EntryState | FeedLabel | EpisodeAction | Document
)
"""A stored row of an account."""

Records: TypeAlias = Sequence[tuple[AccountId, Record]]
"""A chunk of stored data: records of one kind, each with its account."""
