"""What a history says of each change, and what it takes for a wipe."""

from __future__ import annotations

from test_history import URLS, account, leave, undo
from test_subscriptions import G1, G2, A, Account, B, C, guid

from feedkeep.model import Author, CredentialKind, Pointer, Stamp, Subscription, TokenId
from feedkeep.rules import many, subscriptions
from feedkeep.rules.list_changes import FeedChange, ListChange, What, changes_on, differences
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.wipes import WINDOW_US, Wipe, is_wipe, wipes

PHONE = Author(CredentialKind.SESSION, TokenId(3), "AntennaPod/3.4", "phone")


def changes(known: Account) -> list[ListChange]:
    return changes_on(known.kept.page(), known.entries)


def last(known: Account) -> list[FeedChange]:
    return list(changes(known)[0].feeds)


def test_each_change_is_told_newest_first_with_who_made_it() -> None:
    known = Account()
    known.add((A, None))
    snapshot = known.snapshot()
    known.keep(many.set_subscribed(snapshot, [guid(A)], False), author="somebody")
    assert changes(known) == [
        ListChange(known.kept.stamps[1], "somebody", [FeedChange(What.UNSUBSCRIBED, guid(A), A)]),
        ListChange(known.kept.stamps[0], "", [FeedChange(What.ADDED, guid(A), A)]),
    ]


def test_what_happened_to_a_feed_is_told_by_its_name() -> None:
    known = account(A, B)
    assert [feed.what for feed in last(known)] == [What.ADDED, What.ADDED]
    leave(known, A)
    known.add((A, None))
    assert last(known) == [FeedChange(What.SUBSCRIBED, guid(A), A)]
    known.move(guid(A), C)
    assert last(known) == [FeedChange(What.MOVED, guid(A), C, A)]
    known.update(guid(A), Update(new_guid=G1))
    assert last(known) == [FeedChange(What.RENAMED, G1, C, guid(A))]
    known.update(G1, Update(new_guid=guid(B)))
    assert last(known) == [FeedChange(What.MERGED, guid(B), C, B)]
    undo(known)
    assert last(known) == [FeedChange(What.SPLIT, G1, C)]
    known.delete(guid(B))
    assert last(known) == [FeedChange(What.DELETED, guid(B), B)]
    known.add((B, None))
    assert last(known) == [FeedChange(What.ADDED, guid(B), B)]


def test_a_further_url_is_told_as_one_that_leads_to_its_feed() -> None:
    known = Account()
    known.add((A, G2))
    known.add((B, G2))
    assert last(known) == [FeedChange(What.LED, G2, A)]


def test_a_pointer_is_told_by_the_feed_that_it_leads_to_now() -> None:
    feed = Subscription(G2, A, True, Stamp(1))
    others = {G1: Pointer(G1, G2), G2: feed}
    led = {guid(B): Pointer(guid(B), G1)}
    assert differences({}, led, others) == [FeedChange(What.LED, G1, A)]
    assert differences({}, led, {}) == []


def test_what_only_renews_stamps_is_no_change() -> None:
    known = account(A)
    known.add((A, None))
    assert len(changes(known)) == 1


def test_more_than_half_of_ten_feeds_or_more_is_a_wipe() -> None:
    assert is_wipe(10, 6)
    assert not is_wipe(10, 5)
    assert not is_wipe(9, 9)


def found(known: Account) -> list[Wipe]:
    authors = {"phone": PHONE, "tablet": Author(CredentialKind.SESSION, None, "", "tablet")}
    return wipes(changes(known), authors, known.entries, known.counts.subscribed)


def leave_as(known: Account, author: str, urls: list[str]) -> Stamp:
    guids = [guid(url) for url in urls]
    known.keep(many.set_subscribed(known.snapshot(), guids, False), author)
    return known.kept.stamps[-1]


def test_a_wipe_by_one_request_is_found_until_half_of_it_is_back() -> None:
    known = account(*URLS)
    gone = leave_as(known, "phone", URLS[:8])
    (wipe,) = found(known)
    assert (wipe.stamps, wipe.author, len(wipe.feeds)) == ([gone], "phone", 8)
    known.add(*((url, None) for url in URLS[:3]))
    (wipe,) = found(known)
    assert {feed.feed_url for feed in wipe.feeds} == set(URLS[3:8])
    known.add((URLS[3], None))
    assert found(known) == []


def test_a_wipe_by_many_requests_of_one_app_is_found_as_one() -> None:
    known = account(*URLS)
    stamps = [leave_as(known, "phone", [url]) for url in URLS[:7]]
    (wipe,) = found(known)
    assert list(wipe.stamps) == stamps[::-1]


def test_what_several_apps_left_or_one_over_a_long_time_is_no_wipe() -> None:
    known = account(*URLS)
    leave_as(known, "phone", URLS[:4])
    leave_as(known, "tablet", URLS[4:8])
    assert found(known) == []
    known = account(*URLS)
    leave_as(known, "phone", URLS[:4])
    known.now += 2 * WINDOW_US
    leave_as(known, "phone", URLS[4:8])
    assert [len(wipe.feeds) for wipe in found(known)] == []


def test_a_feed_that_was_left_twice_counts_once() -> None:
    known = account(*URLS)
    leave_as(known, "phone", URLS[:5])
    known.add(*((url, None) for url in URLS))
    leave_as(known, "phone", URLS[:5])
    assert found(known) == []
    leave_as(known, "phone", URLS[4:8])
    (wipe,) = found(known)
    assert {feed.feed_url for feed in wipe.feeds} == set(URLS[:8])


def test_a_list_that_an_app_brought_along_and_wiped_at_once_is_wiped() -> None:
    known = Account()
    items = [want(url, None) for url in URLS]
    known.keep(subscriptions.add(known.snapshot(), items), "phone")
    leave_as(known, "phone", URLS[1:])
    assert [len(wipe.feeds) for wipe in found(known)] == [11]


def test_a_feed_that_is_unsubscribed_and_then_deleted_has_gone_once() -> None:
    known = account(*URLS)
    for url in URLS:
        leave_as(known, "phone", [url])
        known.keep(subscriptions.delete(known.snapshot(), guid(url)), "phone")
    (wipe,) = found(known)
    assert len(wipe.feeds) == 12


def test_what_a_browser_takes_back_that_it_has_just_added_is_no_wipe() -> None:
    browser = Author(CredentialKind.BROWSER, TokenId(1))
    items = [want(url, None) for url in URLS]
    for by, later_us, count in ((browser, 0, 0), (browser, 2 * WINDOW_US, 11), (PHONE, 0, 11)):
        known = account("https://one.example")
        known.keep(subscriptions.add(known.snapshot(), items), "adds")
        known.now += later_us
        leave_as(known, "leaves", URLS[1:])
        authors = {"adds": browser, "leaves": by}
        found = wipes(changes(known), authors, known.entries, known.counts.subscribed)
        assert [len(wipe.feeds) for wipe in found] == ([count] if count else [])


def test_a_wipe_that_is_taken_back_is_none() -> None:
    known = account(*URLS)
    leave_as(known, "phone", URLS)
    undo(known)
    assert found(known) == []
