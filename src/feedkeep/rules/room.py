"""How much an account's list may hold: subscriptions, and what is remembered besides. Pure."""

from __future__ import annotations

from feedkeep.errors import InvalidInput
from feedkeep.model import Counts, Value

MAX_SUBSCRIPTIONS = 20_000

_ENTRIES_FOR_EACH = 5


class Most(Value, frozen=True):
    """How much a list may hold.

    Attributes:
        subscriptions: How many feeds an account may be subscribed to.
        entries: How many entries there may be, with those of feeds that were left or deleted, and
            of guids and URLs that feeds had. They stay, for devices that were away for a year; so
            who adds and deletes for ever comes to an end here.
    """

    subscriptions: int = MAX_SUBSCRIPTIONS
    entries: int = _ENTRIES_FOR_EACH * MAX_SUBSCRIPTIONS


EVERYONES = Most()
"""How much where nobody has set something else."""


def most_of(max_subscriptions: int) -> Most:
    """Return how much a list may hold where an account may have so many subscriptions."""
    return Most(max_subscriptions, _ENTRIES_FOR_EACH * max_subscriptions)


def has_room_for_one(counts: Counts, most: Most) -> bool:
    """Say whether any one item fits, whatever is known of it: its guid's entry, and its URL's."""
    return counts.subscribed < most.subscriptions and counts.entries + 2 <= most.entries


def check_room(before: Counts, after: Counts, most: Most) -> None:
    """Check that what is added to a list fits into it. What makes it no larger always does.

    Raises:
        InvalidInput: It does not.
    """
    if after.subscribed > max(before.subscribed, most.subscriptions):
        raise InvalidInput(
            f"This account has {before.subscribed:,} subscriptions, the most that this service"
            " keeps. Unsubscribe from others first."
        )
    if after.entries > max(before.entries, most.entries):
        raise InvalidInput(
            f"This account's list has {before.entries:,} entries, with all that was deleted or"
            " renamed: the most that this service keeps. Take the subscriptions to a new account."
        )
