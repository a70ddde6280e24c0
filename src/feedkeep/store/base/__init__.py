"""The store: the database operations of the service, by topic.

A store loads entries by guid, saves what a rule decided, lists changes and finds credentials. Every
method can raise `StoreUnavailable`: the store is locked, full, unreachable or damaged. The
operation was then carried out completely or not at all.
"""

from feedkeep.store.base.entries import MAX_DELETIONS, MAX_FORMER_STATES, Entries
from feedkeep.store.base.whole import (
    RECORDS_AT_ONCE,
    Archive,
    Check,
    DecideLabels,
    FeedLabels,
    Files,
    Pool,
    Store,
    StoreSize,
    StoreState,
)
from feedkeep.store.portable.accounts import anything_goes

__all__ = [
    "MAX_DELETIONS",
    "MAX_FORMER_STATES",
    "RECORDS_AT_ONCE",
    "Archive",
    "Check",
    "DecideLabels",
    "Entries",
    "FeedLabels",
    "Files",
    "Pool",
    "Store",
    "StoreSize",
    "StoreState",
    "anything_goes",
]
