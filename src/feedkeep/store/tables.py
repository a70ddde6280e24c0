"""The tables: their names, columns and keys; all that is said of one in a statement follows. Pure.

Where a row is what a value has, the columns are named as its fields. The stores differ in the types
of columns only, which their schemas name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedkeep.model import Account, Deletion, Document, EpisodeAction, Token

COUNTS = ("subscribed_count", "announced_count", "entry_count")
"""The columns of an account that say how much is in its list."""

ACCOUNT = (*Account.__struct_fields__[1:-1], *COUNTS)
"""The columns of an account, but for its id."""

TOKEN = Token.__struct_fields__
NEW_TOKEN = TOKEN[: TOKEN.index("told_subscriptions")]
"""The columns of a token whose bearer has not been told anything yet."""

ENTRY = (
    "guid",
    "new_guid",
    "feed_url",
    "is_subscribed",
    "subscription_changed",
    "guid_changed",
    "deleted",
    "alias_url",
    "alias_moved_away",
    "alias_retired",
    "status_changed",
    "app_url",
    "app_url_until",
)
"""The columns of an entry, but for the account and the revision, which follows from them."""

ACTION = EpisodeAction.__struct_fields__


def columns(names: Sequence[str], alias: str = "") -> str:
    """Return columns as a statement lists them, of the table that it calls `alias`."""
    return ", ".join(f"{alias}.{name}" if alias else name for name in names)


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows belong to accounts.

    Attributes:
        name: Its name.
        columns: Its columns as they are written, but for the account's id, which comes first.
        key: Those that tell a row from the account's others; archives are ordered by them.
    """

    name: str
    columns: Sequence[str]
    key: Sequence[str] = ()

    @property
    def or_update(self) -> str:
        """What an INSERT ends with that replaces a row of the same key."""
        others = [name for name in self.columns if name not in self.key]
        return (
            f"ON CONFLICT ({columns(('account_id', *self.key))}) DO UPDATE SET"
            f" {', '.join(f'{name} = excluded.{name}' for name in others)}"
        )


ACCOUNTS = Table("account", (*ACCOUNT, "name_key", "last_token_id"))
TOKENS = Table("token", TOKEN, ("id",))
ENTRIES = Table("entry", (*ENTRY, "revision"), ("guid",))
DELETIONS = Table("deletion", Deletion.__struct_fields__, ("id",))
ACTIONS = Table("episode_action", ACTION, ("podcast_guid", "key"))
DOCUMENTS = Table("document", Document.__struct_fields__, ("kind", "name"))

TABLES = (ACCOUNTS, TOKENS, ENTRIES, DELETIONS, ACTIONS, DOCUMENTS)
"""All that is copied to another store; the one that others refer to comes first."""
