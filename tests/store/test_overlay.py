"""A batch's changes to one account: each request sees those before it, and the last one counts."""

from collections.abc import Sequence

import pytest

from feedkeep.model import (
    AccountId,
    Clock,
    Counts,
    Decision,
    Deletion,
    Entry,
    EntryState,
    Guid,
    History,
    Pointer,
    Snapshot,
    Stamp,
    SyncProgress,
    TokenProgress,
    replace,
)
from feedkeep.model import Subscription as Sub
from feedkeep.model.errors import InvalidInput
from feedkeep.store.overlay import Origin, Overlay

G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))
ONE = Sub(G1, "https://a.example", True, 1)


def overlay(*entries: Entry) -> Overlay:
    return Overlay(AccountId(7), 10, Counts(), entries)


def decide(
    on: Overlay,
    guids: Sequence[Guid],
    saved: Sequence[Entry] = (),
    forgotten: Sequence[Guid] = (),
    deletion: Deletion | None = None,
) -> Snapshot:
    """Run a request that is given a snapshot and decides as it is told; return the snapshot."""
    return on.run(
        guids,
        lambda given: Decision(
            given, saved, forgotten, given.last_stamp + 1, Counts(given.last_stamp), deletion
        ),
        now=99,
    )


def test_a_request_is_given_what_its_guids_name_and_nothing_else():
    three = Sub(G3, "https://c.example", True, 3)
    given = decide(overlay(ONE, Pointer(G2, G1), three), [G2])
    assert given == Snapshot({G1: ONE, G2: Pointer(G2, G1)}, last_stamp=10, now=99, counts=Counts())
    assert decide(overlay(ONE), [G3]).entries == {}


def test_a_request_sees_what_those_before_it_decided():
    changed = Sub(G1, "https://new.example", False, 11)
    on = overlay(ONE)
    decide(on, [G1], [changed, Pointer(G2, G1)])
    assert decide(on, [G2]) == Snapshot({G1: changed, G2: Pointer(G2, G1)}, 11, 99, Counts(10))
    assert on.saved == {G1: changed, G2: Pointer(G2, G1)}


def test_a_pointer_that_leads_elsewhere_now_is_found_there():
    three = Sub(G3, "https://c.example", True, 3)
    on = overlay(ONE, three, Pointer(G2, G1))
    decide(on, [G2, G3], [Pointer(G2, G3)])
    assert set(decide(on, [G1]).entries) == {G1}
    assert set(decide(on, [G3]).entries) == {G2, G3}


def test_the_last_request_decides_whether_a_guid_is_saved_or_forgotten():
    pointer = Pointer(G2, G1)
    on = overlay(ONE, pointer)
    decide(on, [G2], forgotten=[G2])
    assert decide(on, [G2]).entries == {}
    assert (on.saved, on.forgotten) == ({}, {G2})
    decide(on, [G1], [pointer])
    assert (on.saved, on.forgotten) == ({G2: pointer}, set())
    decide(on, [G2], forgotten=[G2])
    assert (on.saved, on.forgotten) == ({}, {G2})


def test_a_request_that_changes_nothing_does_not_move_the_clock():
    on = overlay(ONE)
    decide(on, [G1])
    assert on.last_stamp == 10


def test_a_request_that_refuses_leaves_nothing_behind():
    def refuse(_):
        raise InvalidInput("no")

    on = overlay(ONE)
    with pytest.raises(InvalidInput):
        on.run([G1], refuse, now=99)
    assert (on.saved, on.forgotten, on.last_stamp) == ({}, set(), 10)


@pytest.mark.parametrize("order", [[200, 100, None], [None, 200, 100], [100, 200]])
def test_what_an_app_has_acknowledged_does_not_decrease_in_a_batch(order):
    on = overlay(ONE)
    for sent, acknowledged in enumerate(order):
        progress = TokenProgress(5, Clock.ACTIONS, SyncProgress(sent, acknowledged))
        decision = Decision(None, [], [], Stamp(10), Counts(), token_progress=progress)
        on.run([], lambda _, decision=decision: decision, now=99)
    last = on.token_progress[5, Clock.ACTIONS].progress
    assert last == SyncProgress(len(order) - 1, 200)


def test_every_deletion_of_a_batch_is_remembered():
    on = overlay(ONE)
    for number in (11, 12):
        decide(on, [G1], [ONE], deletion=Deletion(number, G1))
    assert on.deletions == [Deletion(11, G1), Deletion(12, G1)]


def change(
    on: Overlay,
    stamp: int,
    *saved: Entry,
    forgotten: Sequence[Guid] = (),
    ended: Sequence[Guid] = (),
    restamped: Sequence[Guid] = (),
    author: str | None = "anna",
) -> None:
    decision = Decision(None, saved, forgotten, Stamp(stamp), Counts(), stamp=Stamp(stamp))
    decision = replace(decision, ended=ended, restamped=restamped)
    on.run([G1, G2, G3], lambda _: decision, now=99, author=author)


def one(stamp: int) -> Sub:
    return Sub(G1, "https://a.example", stamp % 2 == 0, Stamp(stamp))


def test_a_state_that_is_stored_is_kept_from_there_and_one_of_the_batch_as_it_was():
    on = overlay(ONE)
    change(on, 11, one(11), ended=[G1])
    change(on, 12, one(12), ended=[G1], author="ben")
    change(on, 13, one(13), ended=[G1])
    assert on.stored_ended == [EntryState(ONE, ended=11)]
    assert on.made_and_ended == [
        EntryState(one(11), 11, "anna", 12),
        EntryState(one(12), 12, "ben", 13),
    ]
    assert on.origins == {G1: Origin(13, "anna")}
    assert (on.restamped_ended, on.former_count, on.known_from) == ([], 3, 0)


def test_a_state_with_other_stamps_goes_on_where_it_began():
    on = overlay(ONE, Sub(G2, "https://b.example", True, 2))
    change(on, 11, one(11), ended=[G1])
    two = Sub(G2, "https://b.example", True, 13)
    change(on, 13, one(13), two, restamped=[G1, G2], author="ben")
    assert on.origins == {G1: Origin(11, "anna")}  # of the other, what is stored stays
    change(on, 14, one(14), forgotten=[G2], ended=[G1, G2])
    assert on.made_and_ended == [EntryState(one(13), 11, "anna", 14)]
    assert on.restamped_ended == [EntryState(two, ended=14)]


def test_what_comes_back_in_the_same_batch_begins_anew():
    on = overlay(ONE)
    change(on, 11, forgotten=[G1], ended=[G1])
    change(on, 12, one(12), author="ben")
    assert on.origins == {G1: Origin(12, "ben")}
    change(on, 13, forgotten=[G1], ended=[G1])
    assert on.origins == {}
    assert on.made_and_ended == [EntryState(one(12), 12, "ben", 13)]


def test_without_an_author_no_state_is_kept_and_nothing_before_is_known():
    on = Overlay(AccountId(7), Stamp(10), Counts(), [ONE], known_from=Stamp(5), former_count=2)
    change(on, 11, one(11), ended=[G1], author=None)
    assert on.origins == {G1: Origin(11, None)}
    assert (on.stored_ended, on.former_count, on.known_from) == ([], 2, 11)
    change(on, 12, one(12), ended=[G1])
    assert on.made_and_ended == [EntryState(one(11), 11, "", 12)]
    assert (on.former_count, on.known_from) == (3, 11)


def test_a_change_without_an_author_keeps_a_later_known_from():
    on = Overlay(AccountId(7), Stamp(10), Counts(), [ONE], known_from=Stamp(50))
    change(on, 11, one(11), author=None)
    assert on.known_from == 50


def test_a_history_has_what_is_stored_and_what_the_batch_has_changed():
    two = Sub(G2, "https://b.example", True, 2)
    on = Overlay(AccountId(7), Stamp(10), Counts(), known_from=Stamp(1))
    on.load_state(EntryState(ONE, Stamp(1), "anna"))
    on.load_state(EntryState(two, Stamp(2)))
    before = EntryState(one(0), None, "", Stamp(1))
    on.load_state(before)
    change(on, 11, one(11), ended=[G1], author="ben")
    change(on, 12, replace(two, subscription_changed=Stamp(12)), restamped=[G2])

    def history(since):
        seen: list[Snapshot] = []

        def look(given):
            seen.append(given)
            return Decision(None, [], [], given.last_stamp, given.counts)

        on.run([], look, now=Stamp(99), history_from=Stamp(since))
        assert seen[0].history is not None
        return seen[0].history

    was = EntryState(ONE, Stamp(1), "anna", Stamp(11))
    present = [
        EntryState(one(11), Stamp(11), "ben"),
        EntryState(replace(two, subscription_changed=Stamp(12)), Stamp(2)),
    ]
    assert history(1) == History([before, was, *present], Stamp(1))
    assert history(11) == History([was, *present], Stamp(1))
    assert history(12) == History(present, Stamp(1))
