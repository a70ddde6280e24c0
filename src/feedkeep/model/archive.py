"""All that is stored of an account, as it is copied to another store.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from feedkeep.model.accounts import Account
from feedkeep.model.credentials import Token
from feedkeep.model.decisions import Deletion
from feedkeep.model.documents import Document
from feedkeep.model.episode_actions import EpisodeAction
from feedkeep.model.feed_labels import FeedLabel
from feedkeep.model.history import EntryState
from feedkeep.model.values import AccountId, Stamp, TokenId, Value


class Owner(Value, frozen=True):
    """All that is stored of an account itself, as it is copied to another store.

    Attributes:
        account: The account.
        name_key: Its name in the form in which names are compared.
        last_token_id: The greatest number that one of its tokens was ever given.
        known_from: The stamp from which on every state of its list is known.
        former_count: Sum of the weights of the stored former states of its entries.
    """

    account: Account
    name_key: str
    last_token_id: TokenId
    known_from: Stamp = Stamp(0)
    former_count: int = 0


Record: TypeAlias = Owner | Token | Deletion | EntryState | FeedLabel | EpisodeAction | Document
"""One thing that is stored for an account."""

Records: TypeAlias = Sequence[tuple[AccountId, Record]]
"""A chunk of what is stored: records of one kind, each with its account."""
