"""Invariants of an account's entries (contract, section 3) and of their former states. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from feedkeep.model import Entry, EntryState, Guid, History, Pointer, Snapshot, Stamp, Subscription
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.entry_states import states_at
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import count
from feedkeep.rules.subscriptions import MAX_POINTERS


def violations(whole: Snapshot) -> Iterator[str]:
    """Yield a sentence for each violation in an account's list."""
    known = whole.entries
    if whole.counts != (found := count(known.values())):
        yield f"the stored counts of the list are {whole.counts}, but it has {found}"
    revisions = Counter(entry.revision for entry in known.values() if entry.revision is not None)
    yield from (f"stamp {stamp} is used {n} times" for stamp, n in revisions.items() if n > 1)
    yield from (
        f"stamp {stamp} is after the clock" for stamp in revisions if stamp > whole.last_stamp
    )
    yield from entry_violations(known)


def action_violations(counted: int, found: int) -> Iterator[str]:
    """Yield a sentence if the stored weight of an account's episode actions is wrong."""
    if counted != found:
        yield f"the stored count of episode actions is {counted}, but it should be {found}"


def entry_violations(known: Mapping[Guid, Entry]) -> Iterator[str]:
    """Yield a sentence for each violation in an account's entries, without stamps and counts."""
    pointers = Counter(entry.new_guid for entry in known.values() if isinstance(entry, Pointer))
    yield from (f"{n} pointers lead to {guid}" for guid, n in pointers.items() if n > MAX_POINTERS)
    for entry in known.values():
        if isinstance(entry, Pointer):
            if not isinstance(known.get(entry.new_guid), Subscription):  # C3.6, C3.9
                yield f"pointer {entry.guid} does not lead to a subscription"
        else:
            yield from _subscription_violations(entry, known)


def _subscription_violations(
    subscription: Subscription, known: Mapping[Guid, Entry]
) -> Iterator[str]:
    try:
        derived = parse_feed_url(subscription.feed_url).guid
    except InvalidFeedUrl:
        yield f"the feed URL of {subscription.guid} is not valid"
        return
    found = known.get(derived)
    if found is None or target_guid(found) != subscription.guid:
        yield f"the feed URL of {subscription.guid} does not lead to it"
    if found is not None and found.alias is not None:
        yield f"the present feed URL of {subscription.guid} is stored as a former one, too"
    if subscription.deleted is not None and subscription.is_subscribed:
        yield f"{subscription.guid} is deleted and subscribed"
    if subscription.status_changed > subscription.revision:
        yield f"apps are sent {subscription.guid} later than it changed"
    if subscription.app_url == subscription.feed_url:
        yield f"apps have {subscription.guid} by its present URL, and by another one"


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
