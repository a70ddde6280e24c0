"""Every kind of wrong former state is told; `feedkeep check` depends on it."""

from collections.abc import Sequence

import pytest

from feedkeep.model import (
    Entry,
    EntryState,
    Guid,
    History,
    Pointer,
    Snapshot,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.invariants import history_violations
from feedkeep.rules.list_limits import count

URL = "https://a.example/feed"
GUID = parse_feed_url(URL).guid
FEED = Subscription(GUID, URL, True, Stamp(5))
OFF = replace(FEED, is_subscribed=False)
OTHER = Guid("00000000-0000-4000-8000-000000000001")


def state(began: int | None, ended: int | None, entry: Entry = FEED) -> EntryState:
    return EntryState(
        entry, None if began is None else Stamp(began), "", None if ended is None else Stamp(ended)
    )


def found(states: Sequence[EntryState], known_from: int = 0) -> list[str]:
    entries = {one.entry.guid: one.entry for one in states if one.ended is None}
    history = History(states, Stamp(known_from))
    whole = Snapshot(entries, Stamp(50), Stamp(0), count(entries.values()), history=history)
    return list(history_violations(whole))


@pytest.mark.parametrize(
    ("states", "violation"),
    [
        ([state(9, 9), state(9, None)], f"the states of {GUID} have one that began at 9 and"),
        ([state(9, 7), state(9, None)], f"the states of {GUID} have one that began at 9 and"),
        ([state(1, 5), state(3, 9), state(9, None)], f"the states of {GUID} overlap at 5"),
        ([state(None, 5), state(None, 9)], f"the states of {GUID} overlap at 5"),
        ([state(1, 5), state(4, None)], f"the states of {GUID} overlap at 5"),
        ([state(1, 5), state(None, None)], f"the states of {GUID} overlap at 5"),
        ([state(1, 20), state(9, None)], f"the states of {GUID} overlap at 20"),
        ([state(1, None), state(9, None)], f"the states of {GUID} have two that last"),
        ([state(1, 51)], f"the states of {GUID} have one that ended at 51, which is after the"),
        ([state(51, None)], f"the states of {GUID} have one that began at 51, which is after the"),
        (
            [state(1, 5, Pointer(OTHER, GUID)), state(5, None)],
            f"as it was at stamp 1: pointer {OTHER} does not lead to a subscription",
        ),
        (
            [state(1, 5, replace(FEED, deleted=Stamp(5))), state(5, None)],
            f"as it was at stamp 1: {GUID} is deleted and subscribed",
        ),
    ],
)
def test_each_violation_is_reported(states, violation):
    assert any(fault.startswith(violation) for fault in found(states)), found(states)


@pytest.mark.parametrize(
    "states",
    [
        [],
        [state(None, None)],
        [state(None, 5), state(5, 9, OFF), state(9, None)],
        [state(1, 5), state(7, None)],  # it was forgotten, and came again
        [state(1, 5)],
    ],
)
def test_states_that_follow_each_other_have_no_violations(states):
    assert found(states) == []


def test_what_ended_before_the_list_is_known_is_not_looked_at():
    lost = [state(1, 9), state(3, None)]
    assert found(lost, known_from=8) != []
    assert found(lost, known_from=9) == []


def test_what_is_wrong_at_several_moments_is_told_once():
    off_and_on = [state(n, n + 1, OFF if n % 2 else FEED) for n in range(2, 40)]
    broken = replace(FEED, deleted=Stamp(1))
    first = [state(1, 2, broken), *off_and_on, state(40, None)]
    fault = f"{GUID} is deleted and subscribed"
    assert found(first) == [f"as it was at stamp 1: {fault}"]
    one_more = EntryState(Pointer(OTHER, GUID), Stamp(1), "", None)
    every_second = [state(n, n + 1, broken if n % 2 else FEED) for n in range(1, 41)]
    assert len(found([*every_second, state(41, None), one_more])) == 1


def test_what_is_wrong_with_the_present_list_is_not_told_again():
    broken = replace(FEED, deleted=Stamp(1))
    assert found([state(1, 5, broken), state(5, None, replace(broken, app_url="x"))]) == []


def test_a_history_that_was_not_loaded_is_not_taken_for_a_sound_one():
    with pytest.raises(LookupError):
        list(history_violations(Snapshot({}, Stamp(0), Stamp(0), count(()))))
