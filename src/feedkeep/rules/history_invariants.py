"""Invariants of the former states of an account's entries. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from feedkeep.model import EntryState, Guid, History, Snapshot, Stamp
from feedkeep.rules.entry_states import states_at
from feedkeep.rules.invariants import entry_violations

_MOMENTS = 20
"""Number of past times at which the whole list is checked."""


def history_violations(whole: Snapshot) -> Iterator[str]:
    """Yield a sentence for each violation in the former states of an account's entries.

    States that ended before `known_from` are skipped, since they are about to be deleted. A
    violation at several times is reported once, and not at all if the present list has it.
    """
    history = whole.history
    if history is None:
        raise LookupError("The history was not loaded before it is checked.")
    states = [s for s in history.states if s.ended is None or s.ended > history.known_from]
    of_guids: defaultdict[Guid, list[EntryState]] = defaultdict(list)
    for state in states:
        of_guids[state.entry.guid].append(state)
    for guid, its_states in of_guids.items():
        yield from (
            f"the states of {guid} {fault}" for fault in _faults(its_states, whole.last_stamp)
        )
    told = set(entry_violations(whole.entries))
    for moment in _spread(_changes(history, states)):
        entries = {guid: state.entry for guid, state in states_at(states, moment).items()}
        for fault in entry_violations(entries):
            if fault not in told:
                told.add(fault)
                yield f"as it was at stamp {moment}: {fault}"


def _faults(states: Iterable[EntryState], last_stamp: Stamp) -> Iterator[str]:
    """Yield the violations in the states of one guid."""
    endless = Stamp(2**63)
    in_order = sorted(states, key=lambda state: endless if state.ended is None else state.ended)
    for state in in_order:
        if state.ended is not None and state.ended > last_stamp:
            yield f"have one that ended at {state.ended}, which is after the clock"
        if state.began is not None and state.began > last_stamp:
            yield f"have one that began at {state.began}, which is after the clock"
        if state.ended is not None and state.began is not None and state.began >= state.ended:
            yield f"have one that began at {state.began} and ended at {state.ended}"
    for earlier, later in pairwise(in_order):
        if earlier.ended is None:
            yield "have two that last"
        elif later.began is None or later.began < earlier.ended:
            yield f"overlap at {earlier.ended}"


def _changes(history: History, states: Iterable[EntryState]) -> list[Stamp]:
    stamps = {stamp for state in states for stamp in (state.began, state.ended)}
    return sorted(stamp for stamp in stamps if stamp is not None and stamp > history.known_from)


def _spread(stamps: Sequence[Stamp]) -> Sequence[Stamp]:
    """Return evenly spread stamps, including the first and the last."""
    if len(stamps) <= _MOMENTS:
        return stamps
    last = len(stamps) - 1
    return [stamps[number * last // (_MOMENTS - 1)] for number in range(_MOMENTS)]
