from __future__ import annotations

from feedkeep.model import Guid
from feedkeep.rules.spellings import MAX_SPELLINGS, Spellings, merged

G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))


def test_what_two_requests_of_an_app_show_at_the_same_time_is_all_remembered() -> None:
    before = Spellings(frozenset({G1}))
    other = before.with_known([G2])
    assert merged(other, before, before.with_gone([G1])) == Spellings(
        frozenset({G2}), frozenset({G1})
    )
    assert merged(before, before, before.with_known([G3])).known == {G1, G3}


def test_what_an_app_is_known_to_have_is_forgotten_when_it_starts_from_nothing() -> None:
    before, begun = Spellings(frozenset({G1}), frozenset({G2})), Spellings(frozenset({G3}))
    assert merged(before, before, begun) == begun


def test_an_app_with_too_many_spellings_is_marked_as_full() -> None:
    many = [Guid(f"{i:08x}-0000-4000-8000-000000000000") for i in range(MAX_SPELLINGS)]
    full = merged(Spellings(), Spellings(), Spellings().with_known(many))
    assert not full.is_full
    more = merged(full, Spellings(), Spellings().with_gone([G1]))
    assert more == Spellings(full.known, frozenset(), is_full=True)
