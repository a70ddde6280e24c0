"""A batch's changes to one account: each request sees those before it, and the last one counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from feedkeep.errors import InvalidInput
from feedkeep.model import AccountId, Counts, Decision, Deletion, Entry, Guid, Pointer, Snapshot
from feedkeep.model import Subscription as Sub
from feedkeep.store.overlay import Overlay

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


def test_a_request_is_given_what_its_guids_name_and_nothing_else() -> None:
    three = Sub(G3, "https://c.example", True, 3)
    given = decide(overlay(ONE, Pointer(G2, G1), three), [G2])
    assert given == Snapshot({G1: ONE, G2: Pointer(G2, G1)}, last_stamp=10, now=99, counts=Counts())
    assert decide(overlay(ONE), [G3]).entries == {}


def test_a_request_sees_what_those_before_it_decided() -> None:
    changed = Sub(G1, "https://new.example", False, 11)
    on = overlay(ONE)
    decide(on, [G1], [changed, Pointer(G2, G1)])
    assert decide(on, [G2]) == Snapshot({G1: changed, G2: Pointer(G2, G1)}, 11, 99, Counts(10))
    assert on.saved == {G1: changed, G2: Pointer(G2, G1)}


def test_a_pointer_that_leads_elsewhere_now_is_found_there() -> None:
    three = Sub(G3, "https://c.example", True, 3)
    on = overlay(ONE, three, Pointer(G2, G1))
    decide(on, [G2, G3], [Pointer(G2, G3)])
    assert set(decide(on, [G1]).entries) == {G1}
    assert set(decide(on, [G3]).entries) == {G2, G3}


def test_the_last_request_decides_whether_a_guid_is_saved_or_forgotten() -> None:
    pointer = Pointer(G2, G1)
    on = overlay(ONE, pointer)
    decide(on, [G2], forgotten=[G2])
    assert decide(on, [G2]).entries == {}
    assert (on.saved, on.forgotten) == ({}, {G2})
    decide(on, [G1], [pointer])
    assert (on.saved, on.forgotten) == ({G2: pointer}, set())
    decide(on, [G2], forgotten=[G2])
    assert (on.saved, on.forgotten) == ({}, {G2})


def test_a_request_that_changes_nothing_does_not_move_the_clock() -> None:
    on = overlay(ONE)
    decide(on, [G1])
    assert on.last_stamp == 10


def test_a_request_that_refuses_leaves_nothing_behind() -> None:
    def refuse(_: Snapshot) -> Decision[None]:
        raise InvalidInput("no")

    on = overlay(ONE)
    with pytest.raises(InvalidInput):
        on.run([G1], refuse, now=99)
    assert (on.saved, on.forgotten, on.last_stamp) == ({}, set(), 10)


def test_every_deletion_of_a_batch_is_remembered() -> None:
    on = overlay(ONE)
    for number in (11, 12):
        decide(on, [G1], [ONE], deletion=Deletion(number, G1))
    assert on.deletions == [Deletion(11, G1), Deletion(12, G1)]
