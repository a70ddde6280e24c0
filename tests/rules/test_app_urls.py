from __future__ import annotations

from feedkeep.model import Guid, Second, Stamp
from feedkeep.rules.app_urls import MAX_APP_URLS, AppUrls, merged

G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))


def test_what_two_requests_of_an_app_show_at_the_same_time_is_all_remembered() -> None:
    before = AppUrls(frozenset({G1}))
    other = before.with_known([G2])
    assert merged(other, before, before.with_gone([G1])) == AppUrls(
        frozenset({G2}), frozenset({G1})
    )
    assert merged(before, before, before.with_known([G3])).known == {G1, G3}


def test_what_an_app_is_known_to_have_is_forgotten_when_it_starts_from_nothing() -> None:
    before, begun = AppUrls(frozenset({G1}), frozenset({G2})), AppUrls(frozenset({G3}))
    assert merged(before, before, begun) == begun


def test_an_app_with_too_many_spellings_is_marked_as_full() -> None:
    many = [Guid(f"{i:08x}-0000-4000-8000-000000000000") for i in range(MAX_APP_URLS)]
    full = merged(AppUrls(), AppUrls(), AppUrls().with_known(many))
    assert not full.is_full
    more = merged(full, AppUrls(), AppUrls().with_gone([G1]))
    assert more == AppUrls(full.known, frozenset(), is_full=True)


TOLD, BEFORE, SINCE = Stamp(10), Stamp(9), Stamp(11)
FIRST, LATER = Second(1), Second(2)


def told() -> AppUrls:
    return AppUrls(frozenset({G1})).after_poll(FIRST, TOLD, frozenset({G1}))


def test_a_removal_may_be_an_echo_only_of_what_was_subscribed_to_since_it_was_told() -> None:
    assert told().may_echo(G2, SINCE, {G1, G2})
    assert not told().may_echo(G2, BEFORE, {G1, G2})
    assert not AppUrls().may_echo(G2, SINCE, {G1, G2})


def test_a_removal_of_a_feed_that_was_there_when_another_one_was_removed_as_it_may_be_an_echo() -> (
    None
):
    assert told().may_echo(G1, BEFORE, {G1})
    assert not told().may_echo(G3, BEFORE, {G3})


def test_a_removal_of_another_feed_is_no_echo() -> None:
    assert not told().may_echo(G2, SINCE, {G2, G3})
    also = told().after_poll(FIRST, Stamp(12), frozenset({G2}))
    assert also.may_echo(G1, Stamp(13), {G1})
    assert also.may_echo(G2, Stamp(13), {G2})


def test_of_removals_that_are_too_many_or_not_known_each_may_be_an_echo() -> None:
    many = frozenset(Guid(f"{i:08x}-0000-4000-8000-000000000000") for i in range(MAX_APP_URLS))
    for app in (told().after_poll(FIRST, TOLD, None), told().after_poll(FIRST, TOLD, many)):
        assert app.may_echo(G3, SINCE, {G3})
        assert app.after_poll(FIRST, TOLD, frozenset({G1})).may_echo(G3, SINCE, {G3})
        over = app.without_removals().after_poll(FIRST, TOLD, frozenset({G1}))
        assert not over.may_echo(G3, SINCE, {G3})
        assert app.after_upload([G2], LATER).pending_until == LATER
        assert app.after_upload([], LATER) == app


def test_removals_of_two_polls_at_the_same_time_are_all_remembered() -> None:
    before = AppUrls()
    first = before.after_poll(FIRST, TOLD, frozenset({G1}))
    stored = merged(first, before, before.after_poll(FIRST, TOLD, frozenset({G2})))
    assert stored.may_echo(G1, SINCE, {G1})
    assert stored.may_echo(G2, SINCE, {G2})
    assert not merged(stored, first, first.without_removals()).may_echo(G2, SINCE, {G2})


def test_a_removal_may_be_an_echo_until_the_reply_to_one_has_arrived() -> None:
    """AntennaPod repeats an upload to which it got no reply, and asks since the second before."""
    sent = told().after_upload([G1, G3], LATER)
    assert sent.known == {G1}
    for since in (FIRST, LATER):  # this reply says that another device has brought the feed back
        assert sent.after_poll(since, Stamp(12), frozenset()).may_echo(G1, SINCE, {G1, G2})
    received = sent.after_poll(Second(LATER + 1), Stamp(12), frozenset())
    assert not received.may_echo(G1, SINCE, {G1, G2})
    more = sent.after_poll(Second(LATER + 1), Stamp(12), frozenset({G3}))
    assert not more.may_echo(G1, SINCE, {G1, G2})
    assert more.may_echo(G3, SINCE, {G3})


def test_an_upload_without_an_echo_ends_them_unless_it_comes_right_after_the_removals() -> None:
    """AntennaPod sends removals back with the sync after the one in which it was sent them."""
    assert told().after_upload([G3], LATER) == told()
    asked = told().after_poll(LATER, Stamp(12), frozenset())
    assert asked.may_echo(G1, SINCE, {G1, G2})
    assert not asked.after_upload([G3], LATER).may_echo(G1, SINCE, {G1, G2})


def test_an_upload_ends_echoes_if_it_is_unknown_what_the_app_received() -> None:
    assert not told().after_upload([G1], None).may_echo(G1, SINCE, {G1, G2})
    assert AppUrls().after_upload([G1], LATER) == AppUrls()


def test_an_app_that_has_received_other_changes_and_asks_again_has_no_echo_left() -> None:
    once = told().after_poll(FIRST, Stamp(12), frozenset())
    assert once.may_echo(G1, SINCE, {G1, G2})
    assert not once.after_poll(LATER, Stamp(13), frozenset()).may_echo(G1, SINCE, {G1, G2})
    again = once.after_poll(LATER, Stamp(13), frozenset({G1}))
    assert again.may_echo(G2, Stamp(14), {G1, G2})
    assert not again.may_echo(G2, SINCE, {G1, G2})


def test_an_app_that_lost_a_reply_and_asks_since_the_same_second_may_still_send_an_echo() -> None:
    once = told().after_poll(FIRST, Stamp(12), frozenset())
    repeated = once.after_poll(FIRST, Stamp(13), frozenset())
    assert repeated.may_echo(G1, SINCE, {G1, G2})
    assert not repeated.after_poll(LATER, Stamp(14), frozenset()).may_echo(G1, SINCE, {G1, G2})


def test_that_an_app_was_told_removals_is_merged_with_what_else_is_learned() -> None:
    before = AppUrls()
    stored = before.with_known([G2])
    assert merged(stored, before, told()) == told().with_known([G2])
    assert merged(told(), stored, stored.with_known([G3])).removals_sent == TOLD
    assert merged(told(), told(), told().without_removals()).removals_sent is None
