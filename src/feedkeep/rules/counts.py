"""How much is in an account's list, kept up with each change of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.model import Counts, Entry, Subscription


def counted(counts: Counts, old: Entry | None, new: Entry | None) -> Counts:
    """Return how much is in a list once `new` stands where `old` stood."""
    return Counts(
        counts.subscribed + _is_subscribed(new) - _is_subscribed(old),
        counts.announced + _is_announced(new) - _is_announced(old),
        counts.entries + (new is not None) - (old is not None),
    )


def count(entries: Iterable[Entry]) -> Counts:
    """Return how much is in a list, by looking at all of it."""
    counts = Counts()
    for entry in entries:
        counts = counted(counts, None, entry)
    return counts


def _is_subscribed(entry: Entry | None) -> bool:
    return isinstance(entry, Subscription) and entry.is_subscribed


def _is_announced(entry: Entry | None) -> bool:
    return entry is not None and entry.revision is not None
