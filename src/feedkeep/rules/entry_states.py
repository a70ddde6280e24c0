"""The states of a list's entries over time, and the list at a past time. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from feedkeep.model import Entry, EntryState, Guid, Pointer, Stamp, replace

_STAMPED = Stamp(1)


def is_same_state(old: Entry | None, new: Entry | None) -> bool:
    """Whether two entries of one guid differ only in stamps."""
    if old is None or new is None:
        return old is new
    return old == new or _without_stamps(old) == _without_stamps(new)


def states_at(states: Iterable[EntryState], moment: Stamp) -> dict[Guid, EntryState]:
    """Return the states at a past time by guid: the list as it was.

    `states` must contain all states that ended after that time, and the present ones.
    """
    return {
        state.entry.guid: state
        for state in states
        if (state.began is None or state.began <= moment)
        and (state.ended is None or state.ended > moment)
    }


def _without_stamps(entry: Entry) -> Entry:
    """Replace stamps by constants, which keep only whether a significant stamp is set."""
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
