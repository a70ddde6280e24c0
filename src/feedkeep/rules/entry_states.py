"""The states of a list's entries over time: what ends one, and the list at a moment. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.model import Alias, Entry, EntryState, Guid, Pointer, Stamp, Subscription


def is_same_state(old: Entry | None, new: Entry | None) -> bool:
    """Say whether two entries of one guid differ in nothing but stamps."""
    if isinstance(old, Subscription) and isinstance(new, Subscription):
        return (
            old.is_subscribed == new.is_subscribed
            and old.feed_url == new.feed_url
            and (old.deleted is None) == (new.deleted is None)
            and old.app_url == new.app_url
            and _is_same_alias(old.alias, new.alias)
        )
    if isinstance(old, Pointer) and isinstance(new, Pointer):
        return (
            old.new_guid == new.new_guid
            and (old.guid_changed is None) == (new.guid_changed is None)
            and _is_same_alias(old.alias, new.alias)
        )
    return old is new  # both are None


def states_at(states: Iterable[EntryState], moment: Stamp) -> dict[Guid, EntryState]:
    """Return the states that lasted at a moment, by their guids: the list as it was then.

    `states` has to hold all states that ended after that moment, and the present ones.
    """
    return {
        state.entry.guid: state
        for state in states
        if (state.began is None or state.began <= moment)
        and (state.ended is None or state.ended > moment)
    }


def _is_same_alias(old: Alias | None, new: Alias | None) -> bool:
    if old is None or new is None:
        return old is new
    return (old.url, old.moved_away, old.was_own, old.retired is None) == (
        new.url,
        new.moved_away,
        new.was_own,
        new.retired is None,
    )
