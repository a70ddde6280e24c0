"""Descriptions of changes in the history, and the conditions for a mass unsubscribe."""

import pytest
from kept_account import G1, G2, URLS, A, Account, B, C, guid

from feedkeep.model import Author, CredentialKind, Pointer, Stamp, Subscription, TokenId
from feedkeep.rules import mass_unsubscribes as rules
from feedkeep.rules.list_changes import ChangeKind, FeedChange, ListChange, changes_on, differences
from feedkeep.rules.mass_unsubscribes import WINDOW_US, MassUnsubscribe
from feedkeep.rules.subscriptions import add, delete, want

APP = CredentialKind.SESSION
AUTHORS = {name: Author(APP, TokenId(3), "AntennaPod/3.4", name) for name in ("phone", "tablet")}
AUTHORS["browser"] = Author(CredentialKind.BROWSER, TokenId(1))


def changes(known: Account) -> list[ListChange]:
    return changes_on(known.kept.page(), known.entries)


def last(known: Account) -> list[FeedChange]:
    return list(changes(known)[0].feeds)


def test_each_change_is_told_newest_first_with_its_author():
    known = Account(A)
    known.leave(A, author="an app")
    added, left = known.kept.stamps
    assert changes(known) == [
        ListChange(left, "an app", [FeedChange(ChangeKind.UNSUBSCRIBED, guid(A), A)]),
        ListChange(added, "", [FeedChange(ChangeKind.ADDED, guid(A), A)]),
    ]


def test_each_kind_of_change_of_a_feed_is_told_by_its_name():
    known = Account(A, B)
    assert [feed.what for feed in last(known)] == [ChangeKind.ADDED, ChangeKind.ADDED]
    known.leave(A)
    known.add(A)
    assert last(known) == [FeedChange(ChangeKind.SUBSCRIBED, guid(A), A)]
    known.move(A, C)
    assert last(known) == [FeedChange(ChangeKind.MOVED, guid(A), C, A)]
    known.merge(A, G1)
    assert last(known) == [FeedChange(ChangeKind.RENAMED, G1, C, guid(A))]
    known.merge(G1, B)
    assert last(known) == [FeedChange(ChangeKind.MERGED, guid(B), C, B)]
    known.undo()
    assert last(known) == [FeedChange(ChangeKind.SPLIT, G1, C)]
    known.delete(B)
    assert last(known) == [FeedChange(ChangeKind.DELETED, guid(B), B)]
    known.add(B)
    assert last(known) == [FeedChange(ChangeKind.ADDED, guid(B), B)]


def test_further_url_is_told_as_one_that_leads_to_its_feed():
    known = Account((A, G2))
    known.add((B, G2))
    assert last(known) == [FeedChange(ChangeKind.LED, G2, A)]
    others = {G1: Pointer(G1, G2), G2: Subscription(G2, A, True, Stamp(1))}
    led = {guid(B): Pointer(guid(B), G1)}
    assert differences({}, led, others) == [FeedChange(ChangeKind.LED, G1, A)], "where it led then"
    assert differences({}, led, {}) == []


def test_what_only_apps_are_told_is_a_change_without_feeds_and_new_stamps_are_no_change():
    known = Account(A)
    known.add(A)
    assert len(changes(known)) == 1
    known.move(A, C)
    known.move(A, C, notify_apps=True)
    assert changes(known)[0].feeds == []
    assert len(changes(known)) == 3


MASS = [(2, 2), (9, 3), (10, 4), (17, 6)]


@pytest.mark.parametrize("counts", [*MASS, (1, 1), (2, 1), (5, 2), (10, 3), (100, 33)])
def test_mass_unsubscribe_empties_a_list_or_takes_three_feeds_and_a_third(counts):
    assert rules.is_mass_unsubscribe(*counts) is (counts in MASS)


@pytest.fixture
def known():
    return Account(*URLS)


def found(known: Account) -> list[MassUnsubscribe]:
    return rules.mass_unsubscribes(changes(known), AUTHORS, known.entries, known.counts.subscribed)


def gone(known: Account) -> set[str]:
    """Return the feeds of the only mass unsubscribe."""
    (one,) = found(known)
    urls = [feed.feed_url for feed in one.feeds]
    assert len(set(urls)) == len(urls)
    return set(urls)


@pytest.mark.parametrize(
    ("feeds", "gone", "may_be"), [(12, 1, False), (12, 2, True), (48, 3, False), (48, 4, True)]
)
def test_history_is_read_only_if_a_twelfth_of_the_list_is_missing(feeds, gone, may_be):
    urls = [f"https://{number}.example/feed" for number in range(feeds)]
    known = Account(*urls)
    before = known.last_stamp
    known.leave(*urls[:gone], author="phone")
    subscribed = known.counts.subscribed
    assert rules.may_have_mass_unsubscribe(known.entries, subscribed, before) is may_be
    assert not rules.may_have_mass_unsubscribe(known.entries, subscribed, known.last_stamp)


def test_mass_unsubscribe_by_one_request_is_found_until_half_of_it_is_back(known):
    stamp = known.leave(*URLS[:8], author="phone")
    (one,) = found(known)
    assert (one.stamps, one.author, len(one.feeds)) == ([stamp], "phone", 8)
    known.add(*URLS[:3])
    assert gone(known) == set(URLS[3:8])
    known.add(URLS[3])
    assert found(known) == []


def test_feed_that_was_merged_into_one_of_the_list_since_is_not_gone(known):
    known.leave(*URLS[:8], author="phone")
    known.merge(URLS[0], URLS[11])
    assert gone(known) == set(URLS[1:8])


def test_mass_unsubscribe_by_many_requests_of_one_app_is_found_as_one(known):
    stamps = [known.leave(url, author="phone") for url in URLS[:7]]
    (one,) = found(known)
    assert list(one.stamps) == stamps[::-1]


@pytest.mark.parametrize("pause_us", [0, WINDOW_US // 12])
def test_feed_that_an_app_removed_by_an_earlier_request_is_no_part_of_it(pause_us, known):
    """A list that is sent in parts is one request."""
    known.now = known.last_stamp
    known.leave(*URLS[:1], author="phone")
    known.now = known.last_stamp + 2 * pause_us
    stamps = [known.leave(*URLS[at : at + 3], author="phone") for at in (1, 4, 7)]
    known.now = known.last_stamp + 2 * pause_us
    stamps.append(known.leave(URLS[10], author="phone"))
    (one,) = found(known)
    assert gone(known) == set(URLS[1 if pause_us else 0 : 11])
    assert list(one.stamps[:4]) == stamps[::-1]


def test_mass_unsubscribe_with_pauses_has_all_of_its_feeds():
    known = Account(*URLS[:9])
    for url in URLS[:9]:
        known.now = known.last_stamp + WINDOW_US // 10
        known.leave(url, author="phone")
    assert gone(known) == set(URLS[:9])


@pytest.mark.parametrize(("author", "later"), [("tablet", 0), ("phone", 2 * WINDOW_US)])
def test_feeds_left_by_two_apps_or_over_a_long_time_are_no_mass_unsubscribe(author, later, known):
    known.leave(*URLS[:3], author="phone")
    known.now += later
    known.leave(*URLS[4:6], author=author)
    assert found(known) == []


def test_feed_that_was_left_twice_counts_once(known):
    known.leave(*URLS[:3], author="phone")
    known.add(*URLS)
    known.leave(*URLS[:3], author="phone")
    assert found(known) == []
    known.leave(*URLS[4:8], author="phone")
    assert gone(known) == set(URLS[:3] + URLS[4:8])


def test_list_that_an_app_brought_along_and_removed_at_once_counts():
    known = Account()
    known.keep(add(known.snapshot(), [want(url, None) for url in URLS]), "phone")
    known.leave(*URLS[1:], author="phone")
    assert gone(known) == set(URLS[1:])


def test_feed_that_is_unsubscribed_and_then_deleted_has_gone_once(known):
    for url in URLS:
        known.leave(url, author="phone")
        known.keep(delete(known.snapshot(), guid(url)), "phone")
    assert gone(known) == set(URLS)


def test_feeds_removed_in_a_browser_or_brought_back_are_no_mass_unsubscribe():
    for author in ("browser", "phone"):
        known = Account(*URLS)
        known.leave(*URLS, author=author)
        assert len(found(known)) == (author == "phone")
    known.undo()
    assert found(known) == []
