"""What a history says of each change, and what it takes for a wipe."""

import pytest
from test_subscriptions import G1, G2, A, Account, B, C, guid
from test_undo import URLS, account, leave, undo_changes

from feedkeep.model import Author, CredentialKind, Pointer, Stamp, Subscription, TokenId
from feedkeep.rules import subscriptions
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_changes import ChangeKind, FeedChange, ListChange, changes_on, differences
from feedkeep.rules.mass_unsubscribes import (
    WINDOW_US,
    MassUnsubscribe,
    is_mass_unsubscribe,
    mass_unsubscribes,
    may_have_mass_unsubscribe,
)
from feedkeep.rules.subscriptions import Update, want

PHONE = Author(CredentialKind.SESSION, TokenId(3), "AntennaPod/3.4", "phone")


def changes(known: Account) -> list[ListChange]:
    return changes_on(known.kept.page(), known.entries)


def last(known: Account) -> list[FeedChange]:
    return list(changes(known)[0].feeds)


def test_each_change_is_told_newest_first_with_who_made_it():
    known = Account()
    known.add((A, None))
    snapshot = known.snapshot()
    known.keep(subscriptions.set_subscribed(snapshot, [guid(A)], False), author="an app")
    assert changes(known) == [
        ListChange(
            known.kept.stamps[1], "an app", [FeedChange(ChangeKind.UNSUBSCRIBED, guid(A), A)]
        ),
        ListChange(known.kept.stamps[0], "", [FeedChange(ChangeKind.ADDED, guid(A), A)]),
    ]


def test_what_happened_to_a_feed_is_told_by_its_name():
    known = account(A, B)
    assert [feed.what for feed in last(known)] == [ChangeKind.ADDED, ChangeKind.ADDED]
    leave(known, A)
    known.add((A, None))
    assert last(known) == [FeedChange(ChangeKind.SUBSCRIBED, guid(A), A)]
    known.move(guid(A), C)
    assert last(known) == [FeedChange(ChangeKind.MOVED, guid(A), C, A)]
    known.update(guid(A), Update(new_guid=G1))
    assert last(known) == [FeedChange(ChangeKind.RENAMED, G1, C, guid(A))]
    known.update(G1, Update(new_guid=guid(B)))
    assert last(known) == [FeedChange(ChangeKind.MERGED, guid(B), C, B)]
    undo_changes(known)
    assert last(known) == [FeedChange(ChangeKind.SPLIT, G1, C)]
    known.delete(guid(B))
    assert last(known) == [FeedChange(ChangeKind.DELETED, guid(B), B)]
    known.add((B, None))
    assert last(known) == [FeedChange(ChangeKind.ADDED, guid(B), B)]


def test_a_further_url_is_told_as_one_that_leads_to_its_feed():
    known = Account()
    known.add((A, G2))
    known.add((B, G2))
    assert last(known) == [FeedChange(ChangeKind.LED, G2, A)]


def test_a_pointer_is_told_by_the_feed_that_it_leads_to_now():
    feed = Subscription(G2, A, True, Stamp(1))
    others = {G1: Pointer(G1, G2), G2: feed}
    led = {guid(B): Pointer(guid(B), G1)}
    assert differences({}, led, others) == [FeedChange(ChangeKind.LED, G1, A)]
    assert differences({}, led, {}) == []


def test_what_only_apps_are_told_is_not_told_as_a_further_address():
    known = account(A)
    known.move(guid(A), C)
    known.update(guid(A), Update(new_feed_url=parse_feed_url(C), notify_apps=True))
    assert changes(known)[0].feeds == []
    assert len(changes(known)) == 3


def test_what_only_renews_stamps_is_no_change():
    known = account(A)
    known.add((A, None))
    assert len(changes(known)) == 1


@pytest.mark.parametrize(
    ("subscribed", "unsubscribed", "is_one"),
    [
        (1, 1, False),
        (2, 1, False),
        (2, 2, True),
        (5, 2, False),
        (9, 3, True),
        (10, 3, False),
        (10, 4, True),
        (17, 6, True),
        (100, 33, False),
    ],
)
def test_emptying_a_list_or_taking_three_feeds_and_a_third_of_it_is_a_wipe(
    subscribed, unsubscribed, *, is_one
):
    assert is_mass_unsubscribe(subscribed, unsubscribed) == is_one


def found(known: Account) -> list[MassUnsubscribe]:
    authors = {"phone": PHONE, "tablet": Author(CredentialKind.SESSION, None, "", "tablet")}
    return mass_unsubscribes(changes(known), authors, known.entries, known.counts.subscribed)


@pytest.mark.parametrize(
    ("feeds", "gone", "may_be"), [(12, 1, False), (12, 2, True), (48, 3, False), (48, 4, True)]
)
def test_a_history_is_read_for_a_wipe_only_if_a_twelfth_of_the_list_is_missing(
    feeds, gone, *, may_be
):
    urls = [f"https://{number}.example/feed" for number in range(feeds)]
    known = account(*urls)
    before = known.last_stamp
    leave_as(known, "phone", urls[:gone])
    subscribed = known.counts.subscribed
    assert may_have_mass_unsubscribe(known.entries, subscribed, before) is may_be
    assert not may_have_mass_unsubscribe(known.entries, subscribed, known.last_stamp)


def leave_as(known: Account, author: str, urls: list[str]) -> Stamp:
    guids = [guid(url) for url in urls]
    known.keep(subscriptions.set_subscribed(known.snapshot(), guids, False), author)
    return known.kept.stamps[-1]


def test_a_wipe_by_one_request_is_found_until_half_of_it_is_back():
    known = account(*URLS)
    gone = leave_as(known, "phone", URLS[:8])
    (wipe,) = found(known)
    assert (wipe.stamps, wipe.author, len(wipe.feeds)) == ([gone], "phone", 8)
    known.add(*((url, None) for url in URLS[:3]))
    (wipe,) = found(known)
    assert {feed.feed_url for feed in wipe.feeds} == set(URLS[3:8])
    known.add((URLS[3], None))
    assert found(known) == []


def test_what_was_merged_into_a_feed_of_the_list_since_a_wipe_is_not_gone():
    known = account(*URLS)
    leave_as(known, "phone", URLS[:8])
    known.update(guid(URLS[0]), Update(new_guid=guid(URLS[11])))
    (wipe,) = found(known)
    assert {feed.feed_url for feed in wipe.feeds} == set(URLS[1:8])


def test_a_wipe_by_many_requests_of_one_app_is_found_as_one():
    known = account(*URLS)
    stamps = [leave_as(known, "phone", [url]) for url in URLS[:7]]
    (wipe,) = found(known)
    assert list(wipe.stamps) == stamps[::-1]


@pytest.mark.parametrize("pause_us", [0, WINDOW_US // 12])
def test_what_an_app_removed_by_an_earlier_request_is_no_part_of_a_wipe(pause_us):
    """A list that is sent in parts is one request."""
    known = account(*URLS)
    known.now = known.last_stamp
    leave_as(known, "phone", URLS[:1])
    known.now = known.last_stamp + 2 * pause_us
    stamps = [leave_as(known, "phone", URLS[first : first + 3]) for first in (1, 4, 7)]
    known.now = known.last_stamp + 2 * pause_us
    stamps.append(leave_as(known, "phone", URLS[10:11]))
    (wipe,) = found(known)
    assert {feed.feed_url for feed in wipe.feeds} == set(URLS[1 if pause_us else 0 : 11])
    assert list(wipe.stamps[:4]) == stamps[::-1]


def test_what_an_app_removes_with_pauses_is_a_wipe_of_all_that():
    known = account(*URLS[:9])
    for url in URLS[:9]:
        known.now = known.last_stamp + WINDOW_US // 10
        leave_as(known, "phone", [url])
    (wipe,) = found(known)
    assert len(wipe.feeds) == 9


def test_what_several_apps_left_or_one_over_a_long_time_is_no_wipe():
    known = account(*URLS)
    leave_as(known, "phone", URLS[:3])
    leave_as(known, "tablet", URLS[4:6])
    assert found(known) == []
    known = account(*URLS)
    leave_as(known, "phone", URLS[:3])
    known.now += 2 * WINDOW_US
    leave_as(known, "phone", URLS[4:6])
    assert [len(wipe.feeds) for wipe in found(known)] == []


def test_a_feed_that_was_left_twice_counts_once():
    known = account(*URLS)
    leave_as(known, "phone", URLS[:3])
    known.add(*((url, None) for url in URLS))
    leave_as(known, "phone", URLS[:3])
    assert found(known) == []
    leave_as(known, "phone", URLS[4:8])
    (wipe,) = found(known)
    assert {feed.feed_url for feed in wipe.feeds} == set(URLS[:3] + URLS[4:8])


def test_a_list_that_an_app_brought_along_and_wiped_at_once_is_wiped():
    known = Account()
    items = [want(url, None) for url in URLS]
    known.keep(subscriptions.add(known.snapshot(), items), "phone")
    leave_as(known, "phone", URLS[1:])
    assert [len(wipe.feeds) for wipe in found(known)] == [11]


def test_a_feed_that_is_unsubscribed_and_then_deleted_has_gone_once():
    known = account(*URLS)
    for url in URLS:
        leave_as(known, "phone", [url])
        known.keep(subscriptions.delete(known.snapshot(), guid(url)), "phone")
    (wipe,) = found(known)
    assert len(wipe.feeds) == 12


def test_what_a_person_removes_in_a_browser_is_no_wipe():
    for by, count in ((Author(CredentialKind.BROWSER, TokenId(1)), 0), (PHONE, 1)):
        known = account(*URLS)
        leave_as(known, "leaves", URLS)
        authors = {"leaves": by}
        found = mass_unsubscribes(changes(known), authors, known.entries, known.counts.subscribed)
        assert len(found) == count


def test_a_wipe_that_is_taken_back_is_none():
    known = account(*URLS)
    leave_as(known, "phone", URLS)
    undo_changes(known)
    assert found(known) == []
