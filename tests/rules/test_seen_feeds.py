"""An account is shown what was found of a feed since it first had it, and nothing from before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_account import G1, A, Account, B, C, guid

from feedkeep.model import Failure, Feed, FeedContent, FetchResult, Sighting, Stamp, replace
from feedkeep.rules import seen_feeds as rules
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_names import headline_of
from feedkeep.rules.feed_schedule import LEASE_US, MINUTE_US, after_fetch
from feedkeep.rules.moves import is_dead, proved_move
from feedkeep.rules.seen_feeds import SKEW_US, is_whole, new_subscriber, seen

DAY = DAY_US
NOW = Stamp(100 * DAY)
RADIO = FeedContent(title="Radio", items=("1", "2", "3"))
NEW = Feed(guid(A), A, wanted=NOW, next_fetch=Stamp(0))

NOW_KNOWN = {"guid": guid(A), "url": A, "wanted": NOW, "next_fetch": NOW}
STAMPS = st.integers(1, 9).map(Stamp)
FEEDS = st.builds(
    Feed,
    **{name: st.just(value) for name, value in NOW_KNOWN.items()},
    content=st.none() | st.just(RADIO),
    looked=STAMPS,
    answered=STAMPS,
    **dict.fromkeys(["changed", "failing", "dead", "picture_looked"], st.none() | STAMPS),
    failure=st.sampled_from([Failure.TOO_SLOW, Failure.GONE]),
    failures=st.integers(0, 9),
    sighting=st.none() | st.builds(Sighting, url=st.just(B), first=STAMPS, last=STAMPS),
)


def at(day: int, us: int = 0) -> Stamp:
    return Stamp(NOW + day * DAY + us)


def looked(feed: Feed, day: int, found: FetchResult) -> Feed:
    return after_fetch(feed, found, at(day), 0.5)


READ = looked(NEW, 0, FetchResult(RADIO, etag="1"))
FAILED = FetchResult(failure=Failure.NO_SUCH_HOST, reason="There is none.")


@given(FEEDS, st.integers(0, 10).map(Stamp))
def test_nothing_is_shown_from_before_and_a_headline_that_is_whole_is_the_same(feed, first_had):
    shown = seen(feed, first_had, NOW)
    assert (shown is None) == (feed.looked <= first_had)
    if shown is None:
        assert not is_whole(rules.whole_until(feed), first_had, NOW)
        return
    read = shown.answered
    assert read is None or read > first_had
    found = (shown.content, shown.sighting, shown.picture, shown.changed)
    assert read or found == (None, None, "", None)
    moments = (shown.changed, shown.failing, shown.dead, shown.picture_looked)
    assert all(moment >= first_had for moment in moments if moment is not None)
    assert shown.sighting is None or shown.sighting.first >= first_had
    if is_whole(rules.whole_until(feed), first_had, NOW):
        assert headline_of(shown) == headline_of(feed)


# C10.13
def test_feed_that_others_have_is_shown_once_it_was_looked_at_since():
    assert seen(READ, at(0), NOW) is None  # a look at the very moment may have begun before
    unchanged = looked(READ, 2, FetchResult())
    assert seen(unchanged, at(2), at(3)) is None
    shown = seen(unchanged, at(1), at(3))
    assert (shown.content, shown.looked, shown.answered) == (RADIO, at(2), at(2))
    assert shown.changed == at(1)  # and not the day on which it was read for another account
    assert seen(unchanged, Stamp(NOW - 1), at(3)) is unchanged


@pytest.mark.parametrize("first_had", [Stamp(0), at(0, SKEW_US + 1), at(9_999)])
def test_what_was_had_always_or_by_a_clock_that_was_wrong_is_shown(first_had):
    assert seen(READ, first_had, NOW) is READ
    assert is_whole(rules.whole_until(READ), first_had, NOW)
    assert new_subscriber(READ, first_had, NOW) is None
    assert seen(READ, at(0, SKEW_US), NOW) is None  # the clock of another machine


# C10.9, C10.13
def test_title_that_others_have_read_is_not_shown_while_a_feed_fails():
    failing = looked(looked(READ, 1, FAILED), 3, FAILED)
    shown = seen(failing, at(2), at(3))
    assert (shown.content, shown.answered, shown.failures) == (None, None, 1)
    assert (shown.failing, shown.failure) == (at(2), Failure.NO_SUCH_HOST)
    assert headline_of(shown).title == ""
    read_again = looked(failing, 4, FetchResult())
    assert headline_of(seen(read_again, at(2), at(4))).title == "Radio"


def test_what_a_page_named_to_others_is_not_shown_to_who_could_not_see_that_page():
    page = FetchResult(failure=Failure.NOT_A_FEED, page_feeds=(B,))
    unseen = looked(looked(NEW, 0, page), 2, FetchResult(failure=Failure.TOO_SLOW))
    assert seen(unseen, at(1), at(2)).page_feeds == ()
    assert seen(looked(unseen, 3, page), at(1), at(3)).page_feeds == (B,)


def test_move_and_a_death_count_from_when_an_account_first_had_the_feed():
    moved = replace(READ, looked=at(5), answered=at(5), sighting=Sighting(B, at(0), at(5), 5))
    assert proved_move(moved) is not None
    for day, is_proved in ((-1, True), (1, True), (3, False), (4, False)):
        assert (proved_move(seen(moved, at(day), at(5))) is not None) == is_proved
    dead = replace(looked(READ, 1, FAILED), looked=at(20))
    assert is_dead(dead, None)
    assert is_dead(seen(dead, at(3), at(20)), None)
    assert not is_dead(seen(dead, at(10), at(20)), None)


# C10.14
def test_for_a_newcomer_a_feed_is_looked_at_next_and_for_many_once_a_minute():
    def moment(feed, first_had, now):
        found = new_subscriber(feed, first_had, now)
        assert (found.guid, found.due) == (feed.guid, feed.next_fetch)
        assert found.began_before == first_had + LEASE_US
        return found.moment

    assert moment(READ, at(1), at(1)) == 0
    assert new_subscriber(READ, at(-1), at(1)) is None
    assert moment(NEW, at(1), at(1)) == NEW.next_fetch  # again only if that look is under way
    minute = at(0, MINUTE_US)
    assert moment(READ, at(0, 9), at(0, 9)) == minute
    assert moment(READ, at(0, 9), minute) == 0


def test_url_was_had_by_its_list_alone_and_not_by_a_guid_that_claims_it():
    account = Account(A, (C, guid(B)), now=10)
    account.now = 20
    assert rules.had([account.subscription(A)]) == {A: 10}
    account.move(A, "https://moved.example")
    urls = ["https://moved.example/", A, B, C, "https://unknown.example", "no address"]
    known = {"https://moved.example/": 20, A: 10, C: 10}
    assert rules.had_at(urls, account.entries.values()) == known
    account.move(guid(B), B)
    assert rules.had_at([B, C], account.entries.values()) == {B: 20, C: 10}
    account.add((C, G1))
    assert rules.had_at([C], account.entries.values()) == {C: 10}
