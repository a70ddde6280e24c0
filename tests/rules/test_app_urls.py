from feedkeep.model import Guid, Stamp
from feedkeep.rules.app_urls import MAX_APP_URLS, AppUrls, merged
from feedkeep.rules.echoes import Echoes

G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))


def test_what_two_requests_of_an_app_show_at_the_same_time_is_all_remembered():
    before = AppUrls(frozenset({G1}))
    other = before.with_known([G2])
    assert merged(other, before, before.with_gone([G1])) == AppUrls(
        frozenset({G2}), frozenset({G1})
    )
    assert merged(before, before, before.with_known([G3])).known == {G1, G3}


def test_what_an_app_is_known_to_have_is_forgotten_when_it_starts_from_nothing():
    before, begun = AppUrls(frozenset({G1}), frozenset({G2})), AppUrls(frozenset({G3}))
    assert merged(before, before, begun) == begun


def test_an_app_with_too_many_spellings_is_marked_as_full():
    many = [Guid(f"{i:08x}-0000-4000-8000-000000000000") for i in range(MAX_APP_URLS)]
    full = merged(AppUrls(), AppUrls(), AppUrls().with_known(many))
    assert not full.is_full
    more = merged(full, AppUrls(), AppUrls().with_gone([G1]))
    assert more == AppUrls(full.known, frozenset(), is_full=True)


TOLD = Echoes(Stamp(10), frozenset({G1}))


def test_that_an_app_was_sent_removals_is_merged_with_what_else_is_learned():
    before, told = AppUrls(), AppUrls(frozenset({G1}), echoes=TOLD)
    stored = before.with_known([G2])
    assert merged(stored, before, told) == told.with_known([G2])
    assert merged(told, stored, stored.with_known([G3])).echoes == TOLD
    assert merged(told, told, AppUrls()).echoes is None
