"""The index that rules and stores share: whatever is set, entries and pointers stay together."""

from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Entry, Guid, Pointer, Stamp
from feedkeep.model import Subscription as Sub
from feedkeep.model.entry_index import EntryIndex, target_guid

G1, G2, G3, G4 = GUIDS = [Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3, 4)]
ONE, THREE = (Sub(guid, f"https://{guid}.example", True, Stamp(1)) for guid in (G1, G3))
TWO = Pointer(G2, G1)


def index(*entries: Entry) -> EntryIndex:
    return EntryIndex({entry.guid: entry for entry in entries})


def test_an_entry_is_found_by_its_guid_and_a_subscription_by_its_pointers_too():
    found = index(ONE, TWO)
    assert (found[G2], found.get(G2), found.get(G3)) == (TWO, TWO, None)
    assert (found.find(G1), found.find(G2), found.find(G3)) == (ONE, ONE, None)
    assert (target_guid(ONE), target_guid(TWO)) == (G1, G1)


def test_a_closure_has_the_subscription_and_all_its_pointers_and_nothing_else():
    found = index(ONE, TWO, THREE, Pointer(G4, G1))
    assert found.closure([G2]) == {G1: ONE, G2: TWO, G4: Pointer(G4, G1)}
    assert found.closure([G3, Guid("unknown")]) == {G3: THREE}


def test_setting_returns_what_was_there():
    found = index(ONE)
    assert found.set(G2, TWO) is None
    assert found.set(G2, None) == TWO
    assert found.whole() == {G1: ONE}


def test_pointers_can_be_moved_while_they_are_gone_through():
    found = index(ONE, THREE, TWO, Pointer(G4, G1))
    for guid in found.pointers_to(G1):
        found.set(guid, Pointer(guid, G3))
    assert (found.pointer_count(G1), found.pointer_count(G3)) == (0, 2)


@st.composite
def _entries(draw: st.DrawFn) -> tuple[Guid, Entry | None]:
    guid, target = draw(st.sampled_from(GUIDS)), draw(st.sampled_from(GUIDS))
    subscription = Sub(guid, "https://a.example", True, Stamp(1))
    return guid, draw(st.sampled_from([None, Pointer(guid, target), subscription]))


@given(st.lists(_entries()))
def test_however_an_index_came_about_it_is_the_one_of_its_entries(changes):
    changed = index()
    for guid, entry in changes:
        changed.set(guid, entry)
    made_again = EntryIndex(changed.whole())
    assert changed.whole() == {
        guid: entry for guid, entry in dict(changes).items() if entry is not None
    }
    for guid in GUIDS:
        assert set(changed.pointers_to(guid)) == set(made_again.pointers_to(guid))
        assert changed.pointer_count(guid) == len(made_again.pointers_to(guid))
