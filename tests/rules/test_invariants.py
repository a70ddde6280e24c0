"""Every kind of wrong entry or former state is told: tests and `feedkeep check` depend on it."""

from collections.abc import Sequence

import pytest
from kept_account import G1 as OTHER
from kept_account import A, guid

from feedkeep import model
from feedkeep.model import Entry, Guid, Pointer, Snapshot, Stamp, Subscription, replace
from feedkeep.rules.invariants import history_violations, violations
from feedkeep.rules.list_limits import count

DERIVED = guid(A)
MANY = [Pointer(Guid(f"{i:08x}-0000-4000-8000-000000000001"), DERIVED) for i in range(1_001)]
SOUND = Subscription(OTHER, A, True, 5)


def feed(**fields: object) -> Subscription:
    return Subscription(DERIVED, A, True, 5, **fields)


def whole(entries: list[Entry], last_stamp: int) -> Snapshot:
    return Snapshot({entry.guid: entry for entry in entries}, last_stamp, 0, count(entries))


@pytest.mark.parametrize(
    ("entries", "violation"),
    [
        ([SOUND, Pointer(DERIVED, OTHER, 5)], "stamp 5 is used 2 times"),
        ([SOUND, Pointer(DERIVED, OTHER, 99)], "stamp 99 is after the clock"),
        ([SOUND], f"the feed URL of {OTHER} does not lead to it"),
        ([Subscription(OTHER, "\0", True, 5)], f"the feed URL of {OTHER} is not valid"),
        ([Pointer(DERIVED, OTHER)], f"pointer {DERIVED} does not lead to a subscription"),
        (
            [SOUND, Pointer(DERIVED, OTHER, alias=model.Alias(A, True))],
            f"the present feed URL of {OTHER} is stored as a former one, too",
        ),
        ([feed(deleted=6)], f"{DERIVED} is deleted and subscribed"),
        ([feed(status_changed=6)], f"apps are sent {DERIVED} later than it changed"),
        ([feed(app_url=A)], f"apps have {DERIVED} by its present URL, and by another one"),
        ([feed(), *MANY], f"1001 pointers lead to {DERIVED}"),
    ],
)
def test_each_violation_is_reported(entries, violation):
    assert violation in list(violations(whole(entries, last_stamp=50)))


def test_sound_entries_have_no_violations():
    assert list(violations(whole([SOUND, Pointer(DERIVED, OTHER, 6)], last_stamp=6))) == []


def test_wrong_counts_are_reported():
    miscounted = replace(whole([SOUND, Pointer(DERIVED, OTHER)], 5), counts=model.Counts(1, 2, 2))
    assert list(violations(miscounted)) == [
        "the stored counts of the list are Counts(subscribed=1, announced=2, entries=2),"
        " but it has Counts(subscribed=1, announced=1, entries=2)"
    ]


FEED = feed()
OFF, DELETED = replace(FEED, is_subscribed=False), replace(FEED, deleted=Stamp(5))
STATES = f"the states of {DERIVED}"
AT_1 = "as it was at stamp 1:"


def state(began: int | None, ended: int | None, entry: Entry = FEED) -> model.EntryState:
    return model.EntryState(entry, began, "", ended)


def found(states: Sequence[model.EntryState], known_from: int = 0) -> list[str]:
    entries = {one.entry.guid: one.entry for one in states if one.ended is None}
    history = model.History(states, Stamp(known_from))
    state = (entries, Stamp(50), Stamp(0), count(entries.values()))
    return list(history_violations(Snapshot(*state, history=history)))


@pytest.mark.parametrize(
    ("states", "violation"),
    [
        ([state(9, 9), state(9, None)], f"{STATES} have one that began at 9 and"),
        ([state(9, 7), state(9, None)], f"{STATES} have one that began at 9 and"),
        ([state(1, 5), state(3, 9), state(9, None)], f"{STATES} overlap at 5"),
        ([state(None, 5), state(None, 9)], f"{STATES} overlap at 5"),
        ([state(1, 5), state(4, None)], f"{STATES} overlap at 5"),
        ([state(1, 5), state(None, None)], f"{STATES} overlap at 5"),
        ([state(1, 20), state(9, None)], f"{STATES} overlap at 20"),
        ([state(1, None), state(9, None)], f"{STATES} have two that last"),
        ([state(1, 51)], f"{STATES} have one that ended at 51, which is after the"),
        ([state(51, None)], f"{STATES} have one that began at 51, which is after the"),
        (
            [state(1, 5, Pointer(OTHER, DERIVED)), state(5, None)],
            f"{AT_1} pointer {OTHER} does not lead to a subscription",
        ),
        ([state(1, 5, DELETED), state(5, None)], f"{AT_1} {DERIVED} is deleted and subscribed"),
    ],
)
def test_each_violation_of_a_history_is_reported(states, violation):
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
def test_states_of_a_history_that_follow_each_other_have_no_violations(states):
    assert found(states) == []


def test_what_ended_before_the_list_is_known_is_not_looked_at():
    lost = [state(1, 9), state(3, None)]
    assert found(lost, known_from=8) != []
    assert found(lost, known_from=9) == []


def test_what_is_wrong_at_several_moments_is_told_once():
    off_and_on = [state(n, n + 1, OFF if n % 2 else FEED) for n in range(2, 40)]
    first = [state(1, 2, DELETED), *off_and_on, state(40, None)]
    assert found(first) == [f"{AT_1} {DERIVED} is deleted and subscribed"]
    one_more = model.EntryState(Pointer(OTHER, DERIVED), Stamp(1), "", None)
    every_second = [state(n, n + 1, DELETED if n % 2 else FEED) for n in range(1, 41)]
    assert len(found([*every_second, state(41, None), one_more])) == 1


def test_what_is_wrong_with_the_present_list_is_not_told_again():
    assert found([state(1, 5, DELETED), state(5, None, replace(DELETED, app_url="x"))]) == []


def test_history_that_was_not_loaded_is_not_taken_for_a_sound_one():
    with pytest.raises(LookupError):
        list(history_violations(Snapshot({}, Stamp(0), Stamp(0), count(()))))
