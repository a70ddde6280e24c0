"""The counts of an account's list, updated by each change. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.model import Counts, Entry, Subscription
from feedkeep.model.weights import weight_of_entry


def counted(counts: Counts, old: Entry | None, new: Entry | None) -> Counts:
    """Return the counts of a list after `old` was replaced by `new`."""
    if isinstance(new, Subscription):  # nearly always
        if old is None:
            subscribed = counts.subscribed + new.is_subscribed
            entries = counts.entries + weight_of_entry(new)
            return Counts(subscribed, counts.announced + 1, entries)
        if isinstance(old, Subscription):
            subscribed = counts.subscribed + new.is_subscribed - old.is_subscribed
            entries = counts.entries + weight_of_entry(new) - weight_of_entry(old)
            return Counts(subscribed, counts.announced, entries)
    return Counts(
        counts.subscribed + _is_subscribed(new) - _is_subscribed(old),
        counts.announced + _is_announced(new) - _is_announced(old),
        counts.entries + _weight(new) - _weight(old),
    )


def count(entries: Iterable[Entry]) -> Counts:
    """Compute the counts of a list from all its entries."""
    counts = Counts()
    for entry in entries:
        counts = counted(counts, None, entry)
    return counts


def _is_subscribed(entry: Entry | None) -> bool:
    return isinstance(entry, Subscription) and entry.is_subscribed


def _weight(entry: Entry | None) -> int:
    return 0 if entry is None else weight_of_entry(entry)


def _is_announced(entry: Entry | None) -> bool:
    # Does not use `revision`: computing it for a subscription takes longer than counting it.
    return isinstance(entry, Subscription) or (entry is not None and entry.guid_changed is not None)
