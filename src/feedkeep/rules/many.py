"""Subscribing to several feeds at once, unsubscribing from them, and taking that back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from feedkeep.model import Decision, Guid, Snapshot, Stamp, Subscription, Value, replace
from feedkeep.rules.draft import Draft
from feedkeep.rules.room import DEFAULT_LIMITS, Limits, check_room
from feedkeep.rules.subscriptions import Added, Refused, with_status


class StatusChange(Value, frozen=True):
    """What one step changed: every feed whose status has a stamp from `first` to `last`.

    No other feed has one of these stamps, so they are all that is needed to take it back.

    Attributes:
        first: The smallest of the stamps.
        last: The greatest of them.
        count: How many feeds were changed.
        is_subscribed: Whether they were subscribed to, or unsubscribed.
    """

    first: Stamp
    last: Stamp
    count: int
    is_subscribed: bool


def set_subscribed(
    snapshot: Snapshot,
    guids: Iterable[Guid],
    is_subscribed: bool,
    limits: Limits = DEFAULT_LIMITS,
) -> Decision[StatusChange | None]:
    """Subscribe to feeds of the list, or unsubscribe from them; return what that changed.

    What is there already, was deleted, or is not known to the account, is left as it is. The
    outcome is None if nothing was changed.

    Raises:
        InvalidInput: The list has no room; nothing is changed.
    """
    draft = Draft(snapshot, limits)
    changed = []
    for guid in dict.fromkeys(guids):
        found = draft.find(guid)
        if found and found.deleted is None and found.is_subscribed != is_subscribed:
            stamp = draft.tick()
            new = with_status(found, is_subscribed, stamp)
            changed.append(draft.put(replace(new, subscription_changed=stamp)))
    check_room(snapshot.counts, draft.counts, limits)
    return draft.decision(_change(changed, is_subscribed))


def take_back(
    snapshot: Snapshot, change: StatusChange, limits: Limits = DEFAULT_LIMITS
) -> Decision[StatusChange | None]:
    """Undo a change of a whole account; what was changed again since then stays as it is.

    Raises as `set_subscribed` does.
    """
    guids = [
        entry.guid
        for entry in sorted(_subscriptions(snapshot), key=lambda entry: entry.status_changed)
        if change.first <= entry.status_changed <= change.last
        and entry.is_subscribed == change.is_subscribed
    ]
    return set_subscribed(snapshot, guids, not change.is_subscribed, limits)


def added(results: Sequence[Added | Refused]) -> StatusChange | None:
    """Return what adding items changed; None if all of them were subscribed to already."""
    new = [
        result.subscription
        for result in results
        if isinstance(result, Added) and not result.was_subscribed
    ]
    return _change(list({subscription.guid: subscription for subscription in new}.values()), True)


def count_unsubscribed(snapshot: Snapshot) -> int:
    """Return how many feeds of a whole account are there, but not subscribed to."""
    return sum(
        not entry.is_subscribed and entry.deleted is None for entry in _subscriptions(snapshot)
    )


def _subscriptions(snapshot: Snapshot) -> list[Subscription]:
    return [entry for entry in snapshot.entries.values() if isinstance(entry, Subscription)]


def _change(changed: Sequence[Subscription], is_subscribed: bool) -> StatusChange | None:
    if not changed:
        return None
    stamps = [subscription.status_changed for subscription in changed]
    return StatusChange(min(stamps), max(stamps), len(changed), is_subscribed)
