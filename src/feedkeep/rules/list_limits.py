"""The maximum size of an account's list. Pure."""

from __future__ import annotations

from feedkeep.model import Counts, Limits
from feedkeep.model.errors import InvalidInput

MAX_SUBSCRIPTIONS = 20_000  # C3.12

_ENTRIES_FOR_EACH = 5  # C3.13


def limits_for(max_subscriptions: int) -> Limits:
    return Limits(max_subscriptions, _ENTRIES_FOR_EACH * max_subscriptions)


def check_limits(before: Counts, after: Counts, limits: Limits) -> None:
    """Check a changed list against its limits; changes that do not enlarge it pass (C3.15).

    Raises:
        InvalidInput: A limit is exceeded (C3.14).
    """
    if after.subscribed > max(before.subscribed, limits.subscriptions):
        raise InvalidInput(
            "This account has {count} subscriptions, which is the maximum."
            " Unsubscribe from another feed first.",
            count=before.subscribed,
        )
    if after.entries > max(before.entries, limits.entries):
        raise InvalidInput(
            "This account's list has {count} entries, including those that were deleted"
            " or renamed, which is the maximum. An entry counts once for each KiB that it begins."
            " Move the subscriptions to a new account.",
            count=before.entries,
        )
