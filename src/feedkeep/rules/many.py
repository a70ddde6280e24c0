"""Subscribing to several feeds at once, and unsubscribing from them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from feedkeep.model import Decision, Guid, Snapshot, Subscription
from feedkeep.rules.draft import Draft
from feedkeep.rules.room import DEFAULT_LIMITS, Limits, check_room
from feedkeep.rules.subscriptions import Added, Refused, set_status


def set_subscribed(
    snapshot: Snapshot,
    guids: Iterable[Guid],
    is_subscribed: bool,
    limits: Limits = DEFAULT_LIMITS,
) -> Decision[int]:
    """Subscribe to feeds of the list, or unsubscribe from them; return how many that changed.

    What is there already, was deleted, or is not known to the account, is left as it is.

    Raises:
        InvalidInput: The list has no room; nothing is changed.
    """
    draft = Draft(snapshot, limits)
    changed = 0
    for guid in dict.fromkeys(guids):
        found = draft.find(guid)
        if found and found.deleted is None and found.is_subscribed != is_subscribed:
            set_status(draft, found, is_subscribed)
            changed += 1
    check_room(snapshot.counts, draft.counts, limits)
    return draft.decision(changed)


def count_added(results: Sequence[Added | Refused]) -> int:
    """Return how many feeds are subscribed to, since items were added, that were not before."""
    return len(
        {
            result.subscription.guid
            for result in results
            if isinstance(result, Added) and not result.was_subscribed
        }
    )


def count_unsubscribed(snapshot: Snapshot) -> int:
    """Return how many feeds of a whole account are there, but not subscribed to."""
    return sum(
        not entry.is_subscribed and entry.deleted is None
        for entry in snapshot.entries.values()
        if isinstance(entry, Subscription)
    )
