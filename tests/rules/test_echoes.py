"""Possible echoes of apps that know feeds by URL only, and their known URLs."""

import pytest
from kept_account import G1, G2, G3

from feedkeep.model import Guid, Second, Stamp
from feedkeep.rules import app_urls, echoes
from feedkeep.rules.app_urls import MAX_APP_URLS, AppUrls
from feedkeep.rules.echoes import MAX_REMOVALS, NO_FEEDS, Echoes, merged

TOLD, BEFORE, SINCE = Stamp(10), Stamp(9), Stamp(90)
FIRST, SECOND, THIRD = Second(1), Second(2), Second(3)
MANY = [Guid(f"{i:08x}-0000-4000-8000-000000000000") for i in range(MAX_REMOVALS)]


def told(*removals: Guid) -> Echoes:
    return poll(None, FIRST, *(removals or [G1]))


def poll(app: Echoes | None, since: Second, *removals: Guid) -> Echoes | None:
    return echoes.after_poll(app, since, TOLD, frozenset(removals))


def upload(app: Echoes | None, *removed: Guid, last_sent: Second | None = SECOND) -> Echoes | None:
    return echoes.after_upload(app, removed, last_sent)


def echoed(app: Echoes | None) -> set[Guid]:
    """Return the feeds whose removal may be an echo."""
    return {guid for guid in (G1, G2, G3) if app and app.may_have(guid, SINCE, {guid})}


def test_removal_may_be_an_echo_only_of_a_feed_whose_removal_the_app_was_sent():
    assert told().may_have(G2, SINCE, {G1, G2})
    assert not told().may_have(G2, SINCE, {G2, G3})
    assert poll(None, FIRST) is None


def test_removal_is_no_echo_of_a_feed_that_was_there_all_the_time_unless_it_is_named_alike():
    """An app that decodes escapes, told to remove one of two feeds, sends the other one back."""
    assert not told().may_have(G2, BEFORE, {G1, G2})
    assert told().may_have(G1, BEFORE, {G1})


def test_echoes_end_after_the_sync_that_follows():
    once = poll(told(), SECOND)
    assert echoed(once) == {G1}
    assert poll(once, THIRD) is None


def test_sync_that_is_repeated_ends_nothing():
    once = poll(told(), FIRST, G2)
    assert echoed(once) == echoed(poll(poll(once, SECOND), SECOND)) == {G1, G2}


def test_removals_of_two_syncs_may_be_sent_back_and_older_ones_may_not():
    """A phone whose clock is a year behind is sent all removals of the year with each sync."""
    both = poll(told(), SECOND, G2)
    assert echoed(both) == {G1, G2}
    assert echoed(poll(both, THIRD, G2)) == {G2}


def test_echo_may_be_repeated_until_the_app_asks_since_another_second():
    """AntennaPod repeats an upload to which it got no reply, and asks since the second before."""
    sent = upload(told(), G1, G3)
    for since in (FIRST, SECOND):
        assert echoed(poll(sent, since)) == {G1}
    assert poll(sent, THIRD) is None
    assert echoed(upload(poll(sent, FIRST), G1)) == {G1}


def test_upload_ends_the_echoes_of_the_sync_before_that_it_does_not_have():
    assert upload(told(), G3) == told(), "the app sends them back with its next sync"
    next_sync = poll(told(G1, G2), SECOND)
    assert upload(next_sync) is None
    assert echoed(upload(next_sync, G1)) == {G1}


def test_upload_ends_the_echoes_it_has_if_it_is_unknown_what_the_app_received():
    assert upload(poll(told(), SECOND), G1, last_sent=None) is None
    assert upload(None, G1) is None


def test_feed_that_the_app_adds_is_not_removed_by_an_echo():
    assert echoes.after_adding(told(), {G1, G3}) is None
    assert echoed(echoes.after_adding(poll(told(), SECOND, G1, G2), {G1})) == {G2}
    assert echoes.after_adding(None, {G1}) is None


@pytest.mark.parametrize("removals", [None, frozenset({G1, *MANY})])
def test_of_removals_that_are_too_many_each_may_be_an_echo(removals):
    app = echoes.after_poll(told(), FIRST, TOLD, removals)
    assert echoed(app) == {G1, G2, G3}
    assert not app.may_have(G3, BEFORE, {G3})
    sent = upload(app, G2)
    assert echoed(poll(sent, SECOND)) == echoed(echoes.after_adding(app, {G3})) == {G1, G2, G3}
    assert poll(poll(sent, THIRD), Second(4)) is None


def test_echoes_that_two_requests_change_at_the_same_time_are_all_remembered():
    first, other = poll(None, FIRST, G1), poll(None, SECOND, G2)
    both = merged(first, None, other)
    assert echoed(both) == {G1, G2}
    assert merged(first, None, None) == first
    assert merged(first, first, None) is None
    assert merged(None, first, other) == other
    assert merged(other, first, None) == other
    assert both.earlier == NO_FEEDS


SENT_G1 = Echoes(TOLD, frozenset({G1}))


def test_what_two_requests_of_an_app_show_at_the_same_time_is_all_remembered():
    before = AppUrls(frozenset({G1}))
    other = before.with_known([G2])
    after = AppUrls(frozenset({G2}), frozenset({G1}))
    assert app_urls.merged(other, before, before.with_gone([G1])) == after
    assert app_urls.merged(before, before, before.with_known([G3])).known == {G1, G3}
    # It is forgotten when the app starts from nothing.
    before, begun = AppUrls(frozenset({G1}), frozenset({G2})), AppUrls(frozenset({G3}))
    assert app_urls.merged(before, before, begun) == begun


def test_app_with_too_many_spellings_is_marked_as_full():
    many = [Guid(f"{i:08x}-0000-4000-8000-000000000000") for i in range(MAX_APP_URLS)]
    full = app_urls.merged(AppUrls(), AppUrls(), AppUrls().with_known(many))
    assert not full.is_full
    more = app_urls.merged(full, AppUrls(), AppUrls().with_gone([G1]))
    assert more == AppUrls(full.known, frozenset(), is_full=True)


def test_that_an_app_was_sent_removals_is_merged_with_what_else_is_learned():
    before, told = AppUrls(), AppUrls(frozenset({G1}), echoes=SENT_G1)
    stored = before.with_known([G2])
    assert app_urls.merged(stored, before, told) == told.with_known([G2])
    assert app_urls.merged(told, stored, stored.with_known([G3])).echoes == SENT_G1
    assert app_urls.merged(told, told, AppUrls()).echoes is None
