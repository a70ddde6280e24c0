"""The Store protocol: all that the service asks of a database, topic by topic.

A store loads entries by guid, saves what a rule decided, lists what changed, and finds credentials.
Every method can raise `StoreUnavailable`: the store is locked, full, away or damaged. Then the
operation was done as a whole, or not at all.
"""

from feedkeep.store.base.accounts import (
    Accounts,
    CheckChange,
    DecideRestored,
    DecideStamps,
    anything_goes,
)
from feedkeep.store.base.archive import RECORDS_AT_ONCE, Archive, Check
from feedkeep.store.base.attempts import Attempts
from feedkeep.store.base.credentials import DecideTokens, Logins, Tokens
from feedkeep.store.base.entries import MAX_DELETIONS, MAX_FORMER_STATES, Entries, ListHistory
from feedkeep.store.base.feed_labels import DecideLabels, FeedLabels
from feedkeep.store.base.feeds import Feeds
from feedkeep.store.base.for_apps import (
    MAX_OF_AN_EPISODE,
    DecideActions,
    DecideDocument,
    Documents,
    EpisodeActions,
    Learn,
    learn_nothing,
)
from feedkeep.store.base.totals import SomeAccounts, SomeFeeds, Totals
from feedkeep.store.base.whole import Files, Pool, Store, StoreSize, StoreState

__all__ = [
    "MAX_DELETIONS",
    "MAX_FORMER_STATES",
    "MAX_OF_AN_EPISODE",
    "RECORDS_AT_ONCE",
    "Accounts",
    "Archive",
    "Attempts",
    "Check",
    "CheckChange",
    "DecideActions",
    "DecideDocument",
    "DecideLabels",
    "DecideRestored",
    "DecideStamps",
    "DecideTokens",
    "Documents",
    "Entries",
    "EpisodeActions",
    "FeedLabels",
    "Feeds",
    "Files",
    "Learn",
    "ListHistory",
    "Logins",
    "Pool",
    "SomeAccounts",
    "SomeFeeds",
    "Store",
    "StoreSize",
    "StoreState",
    "Tokens",
    "Totals",
    "anything_goes",
    "learn_nothing",
]
