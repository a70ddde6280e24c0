"""The maximum size of an account's list, and the counts that each change updates. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.model import Counts, Entry, Limits, Subscription
from feedkeep.model.errors import InvalidInput
from feedkeep.model.weights import weight_of_entry

MAX_SUBSCRIPTIONS = 20_000  # C3.12

_ENTRIES_FOR_EACH = 5  # C3.13


def limits_for(max_subscriptions: int) -> Limits:
    return Limits(max_subscriptions, _ENTRIES_FOR_EACH * max_subscriptions)


def check_limits(before: Counts, after: Counts, limits: Limits) -> None:
    """Check a changed list against its limits; changes that do not enlarge it pass (C3.15).

    Raises:
        InvalidInput: A limit is exceeded (C3.14).
    """
    if after.subscribed > limits.subscriptions and after.subscribed > before.subscribed:
        raise InvalidInput(
            "This account has {count} subscriptions, which is the maximum."
            " Unsubscribe from another feed first.",
            count=before.subscribed,
        )
    if after.entries > limits.entries and after.entries > before.entries:
        raise InvalidInput(
            "This account's list has {count} entries, including those that were deleted"
            " or renamed, which is the maximum. An entry counts once for each KiB that it begins."
            " Move the subscriptions to a new account.",
            count=before.entries,
        )


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
