"""A batch's changes to one account: each request sees those before it, and the last one counts."""

import pytest
from list_values import G1, G2, G3
from small_lists import look

from feedkeep import model
from feedkeep.model import Subscription as Sub
from feedkeep.model import replace
from feedkeep.model.errors import InvalidInput
from feedkeep.store.overlay import Origin, Overlay

ONE = Sub(G1, "https://a.example", True, 1)
TWO = Sub(G2, "https://b.example", True, 2)
THREE = Sub(G3, "https://c.example", True, 3)


def overlay(*entries, **more):
    return Overlay(7, 10, model.Counts(), entries, **more)


def decide(on, guids, saved=(), forgotten=(), deletion=None):
    """Run a request that is given a snapshot and decides as it is told; return the snapshot."""
    return on.run(
        guids,
        lambda given: model.Decision(
            given, saved, forgotten, given.last_stamp + 1, model.Counts(given.last_stamp), deletion
        ),
        now=99,
    )


def test_request_is_given_the_entries_of_its_guids_and_no_others():
    given = decide(overlay(ONE, model.Pointer(G2, G1), THREE), [G2])
    assert given == model.Snapshot(
        {G1: ONE, G2: model.Pointer(G2, G1)}, last_stamp=10, now=99, counts=model.Counts()
    )
    assert decide(overlay(ONE), [G3]).entries == {}


def test_request_sees_what_those_before_it_decided():
    def refuse(_):
        raise InvalidInput("no")

    changed = Sub(G1, "https://new.example", False, 11)
    on = overlay(ONE)
    decide(on, [G1])
    with pytest.raises(InvalidInput):
        on.run([G1], refuse, now=99)
    assert (on.saved, on.forgotten, on.last_stamp) == ({}, set(), 10)
    decide(on, [G1], [changed, model.Pointer(G2, G1)])
    assert decide(on, [G2]) == model.Snapshot(
        {G1: changed, G2: model.Pointer(G2, G1)}, 11, 99, model.Counts(10)
    )
    assert on.saved == {G1: changed, G2: model.Pointer(G2, G1)}
    for number in (11, 12):
        decide(on, [G1], [ONE], deletion=model.Deletion(number, G1))
    assert on.deletions == [model.Deletion(11, G1), model.Deletion(12, G1)]


def test_last_request_decides_whether_a_guid_is_saved_or_forgotten_and_where_it_leads():
    on = overlay(ONE, THREE, model.Pointer(G2, G1))
    decide(on, [G2, G3], [model.Pointer(G2, G3)])
    assert set(decide(on, [G1]).entries) == {G1}
    assert set(decide(on, [G3]).entries) == {G2, G3}
    pointer = model.Pointer(G2, G1)
    on = overlay(ONE, pointer)
    decide(on, [G2], forgotten=[G2])
    assert decide(on, [G2]).entries == {}
    assert (on.saved, on.forgotten) == ({}, {G2})
    decide(on, [G1], [pointer])
    assert (on.saved, on.forgotten) == ({G2: pointer}, set())
    decide(on, [G2], forgotten=[G2])
    assert (on.saved, on.forgotten) == ({}, {G2})


@pytest.mark.parametrize("order", [[200, 100, None], [None, 200, 100], [100, 200]])
def test_acknowledged_progress_does_not_decrease_in_a_batch(order):
    on = overlay(ONE)
    for sent, acknowledged in enumerate(order):
        progress = model.TokenProgress(
            5, model.Clock.ACTIONS, model.SyncProgress(sent, acknowledged)
        )
        decision = model.Decision(None, [], [], 10, model.Counts(), token_progress=progress)
        on.run([], lambda _, decision=decision: decision, now=99)
    last = on.token_progress[5, model.Clock.ACTIONS].progress
    assert last == model.SyncProgress(len(order) - 1, 200)


def change(on, stamp, *saved, forgotten=(), author="anna", **more):
    decision = model.Decision(None, saved, forgotten, stamp, model.Counts(), stamp=stamp, **more)
    on.run([G1, G2, G3], lambda _: decision, now=99, author=author)


def one(stamp):
    return Sub(G1, "https://a.example", stamp % 2 == 0, stamp)


def test_stored_state_is_continued_and_states_of_the_batch_are_stored_as_they_were():
    on = overlay(ONE)
    change(on, 11, one(11), ended=[G1])
    change(on, 12, one(12), ended=[G1], author="ben")
    change(on, 13, one(13), ended=[G1])
    assert on.stored_ended == [model.EntryState(ONE, ended=11)]
    assert on.made_and_ended == [
        model.EntryState(one(11), 11, "anna", 12),
        model.EntryState(one(12), 12, "ben", 13),
    ]
    assert on.origins == {G1: Origin(13, "anna")}
    assert (on.restamped_ended, on.former_count, on.known_from) == ([], 3, 0)


def test_state_with_other_stamps_continues_from_its_beginning():
    on = overlay(ONE, TWO)
    change(on, 11, one(11), ended=[G1])
    two = replace(TWO, subscription_changed=13)
    change(on, 13, one(13), two, restamped=[G1, G2], author="ben")
    assert on.origins == {G1: Origin(11, "anna")}  # of the other, what is stored stays
    change(on, 14, one(14), forgotten=[G2], ended=[G1, G2])
    assert on.made_and_ended == [model.EntryState(one(13), 11, "anna", 14)]
    assert on.restamped_ended == [model.EntryState(two, ended=14)]


def test_entry_that_returns_in_the_same_batch_begins_a_new_state():
    on = overlay(ONE)
    change(on, 11, forgotten=[G1], ended=[G1])
    change(on, 12, one(12), author="ben")
    assert on.origins == {G1: Origin(12, "ben")}
    change(on, 13, forgotten=[G1], ended=[G1])
    assert on.origins == {}
    assert on.made_and_ended == [model.EntryState(one(12), 12, "ben", 13)]


def test_change_without_an_author_stores_no_state_and_earlier_ones_are_unknown():
    on = overlay(ONE, known_from=5, former_count=2)
    change(on, 11, one(11), ended=[G1], author=None)
    assert on.origins == {G1: Origin(11, None)}
    assert (on.stored_ended, on.former_count, on.known_from) == ([], 2, 11)
    change(on, 12, one(12), ended=[G1])
    assert on.made_and_ended == [model.EntryState(one(11), 11, "", 12)]
    assert (on.former_count, on.known_from) == (3, 11)
    on = overlay(ONE, known_from=50)
    change(on, 11, one(11), author=None)
    assert on.known_from == 50


def test_history_has_stored_states_and_those_of_the_batch():
    on = overlay(known_from=1)
    on.load_state(model.EntryState(ONE, 1, "anna"))
    on.load_state(model.EntryState(TWO, 2))
    before = model.EntryState(one(0), None, "", 1)
    on.load_state(before)
    change(on, 11, one(11), ended=[G1], author="ben")
    two = replace(TWO, subscription_changed=12)
    change(on, 12, two, restamped=[G2])
    was = model.EntryState(ONE, 1, "anna", 11)
    present = [model.EntryState(one(11), 11, "ben"), model.EntryState(two, 2)]
    for since, states in ((1, [before, was, *present]), (11, [was, *present]), (12, present)):
        assert on.run([], look, now=99, history_from=since).history == model.History(states, 1)
