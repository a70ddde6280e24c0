"""The states of a list's entries over time: what ends one, and the list at a moment. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.model import Entry, EntryState, Guid, Pointer, Stamp, replace

_STAMPED = Stamp(1)


def is_same_state(old: Entry | None, new: Entry | None) -> bool:
    """Say whether two entries of one guid differ in nothing but stamps."""
    if old is None or new is None:
        return old is new
    return old == new or _without_stamps(old) == _without_stamps(new)


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


def _without_stamps(entry: Entry) -> Entry:
    """Return an entry of whose stamps is left only whether those are there that say what it is."""
    alias = entry.alias
    if alias is not None:
        alias = replace(alias, retired=_if_stamped(alias.retired), first_had=_STAMPED)
    if isinstance(entry, Pointer):
        return replace(entry, alias=alias, guid_changed=_if_stamped(entry.guid_changed))
    return replace(
        entry,
        alias=alias,
        subscription_changed=_STAMPED,
        guid_changed=None,
        deleted=_if_stamped(entry.deleted),
        status_changed=_STAMPED,
        app_url_until=None,
        first_had=_STAMPED,
    )


def _if_stamped(stamp: Stamp | None) -> Stamp | None:
    return None if stamp is None else _STAMPED
