"""Limits of an account's list, and the error messages when it is full."""

import pytest
from kept_account import DEFAULT_LIMITS, G1, A, Account, B, C, D, E, guid

from feedkeep.model import Counts, Limits, replace
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import subscriptions, url_lists
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import check_limits, count, limits_for
from feedkeep.rules.subscriptions import Added, Refused, want
from feedkeep.rules.url_lists import whole_list

TWO = Limits(subscriptions=2, entries=10)
FULL = (
    "This account has 2 subscriptions, which is the maximum. Unsubscribe from another feed first."
)


def is_added(account: Account, *urls: str) -> list[bool]:
    return [isinstance(one, Added) for one in account.add(*urls)]


def test_adding_to_a_list_without_its_limits_is_refused_as_a_defect():
    snapshot = replace(Account().snapshot(), limits=None)
    with pytest.raises(LookupError, match="limits were not loaded"):
        subscriptions.add(snapshot, [want(A, None)])


# C3.12, C3.13, C3.15
def test_list_has_20_000_subscriptions_and_five_times_as_many_entries_at_most():
    full, fullest = Counts(subscribed=20_000, entries=100_000), Counts(20_001, 0, 100_001)
    check_limits(Counts(19_999, 0, 99_999), full, DEFAULT_LIMITS)
    check_limits(full, full, DEFAULT_LIMITS)
    check_limits(fullest, fullest, DEFAULT_LIMITS)
    for after in (Counts(20_001, 0, 100_000), Counts(20_000, 0, 100_001)):
        with pytest.raises(InvalidInput, match="which is the maximum"):
            check_limits(full, after, DEFAULT_LIMITS)


# C3.12, C3.14
def test_items_without_room_fail_each_with_a_reason_and_the_others_are_added():
    account = Account(limits=TWO)
    results = account.add(A, B, C, A, D)
    assert [type(one) for one in results] == [Added, Added, Refused, Added, Refused]
    assert [one.message for one in results if isinstance(one, Refused)] == [FULL, FULL]
    assert account.counts.subscribed == 2


def test_after_unsubscribing_or_deleting_there_is_room_again():
    account = Account(A, B, limits=TWO)
    account.update(A, is_subscribed=False)
    assert is_added(account, C) == [True]
    with pytest.raises(InvalidInput, match="has 2 subscriptions, which is the maximum"):
        account.update(A, is_subscribed=True)
    account.delete(C)
    account.update(A, is_subscribed=True)
    assert account.counts.subscribed == 2


# C3.15
def test_list_that_is_longer_than_it_may_be_can_still_be_changed_but_not_grow():
    account = Account(A, B, C, limits=limits_for(3))
    account.limits = TWO
    account.move(A, D)
    account.update(B, is_subscribed=True)
    assert is_added(account, C, E) == [True, False]


# C3.13
def test_adding_and_deleting_without_end_reaches_a_limit():
    account = Account(limits=TWO)
    for number in range(10):
        assert is_added(account, f"https://a.example/{number}") == [True]
        account.delete(f"https://a.example/{number}")
    (refused,) = account.add(A)
    assert refused.message.startswith("This account's list has 10 entries, including those")
    assert is_added(account, "https://a.example/3") == [True]  # one that it knows


# C3.13
def test_renaming_and_moving_without_end_reaches_a_limit():
    account = Account(A, limits=TWO)
    for number in range(1, 10):
        account.merge(A, f"{G1[:-1]}{number}")
    for change in ({"new_guid": guid(f"{G1[:-1]}a")}, {"new_feed_url": parse_feed_url(B)}):
        with pytest.raises(InvalidInput, match="list has 10 entries"):
            account.update(A, **change)
    assert is_added(account, (B, f"{G1[:-1]}b")) == [False]


# C3.13, C3.14
def test_entry_counts_once_for_each_kib_that_it_begins():
    account = Account(limits=Limits(20, 10))
    urls = [f"https://{letter}.example/{'x' * 2_600}" for letter in "abc"]  # 4 each
    assert is_added(account, *urls, A, B, C) == [True, True, False, True, True, False]
    assert account.counts.entries == 10
    assert account.subscribed() == {urls[0], urls[1], A, B}


# C3.15
def test_full_list_accepts_what_unsubscribes_and_refuses_what_makes_a_row_larger():
    long, longer = (f"https://a.example/{'x' * size}" for size in (2_600, 2_601))
    account = Account(long, A, B, C, D, E, limits=Limits(20, 9))
    assert account.counts.entries == 9
    for url in (long, A):
        account.update(url, is_subscribed=False)
        assert is_added(account, url) == [True]
        with pytest.raises(InvalidInput, match="list has 9 entries"):
            account.move(url, longer)
    account.delete(long)
    account.do(url_lists.upload, [], [parse_feed_url(A)])
    assert account.counts == Counts(subscribed=4, announced=6, entries=9)


# C3.14
def test_item_without_room_leaves_nothing_behind():
    account = Account(A, B, limits=Limits(20, 4))
    account.delete(B)
    items = [want(f"https://a.example/{'x' * 2_600}", G1), want(C, None)]
    decision = subscriptions.add(account.snapshot(), items)
    assert [type(one) for one in decision.outcome] == [Refused, Added]
    assert [entry.guid for entry in decision.saved] == [guid(C)]
    account.keep(decision)
    assert account.counts == count(account.entries.values()) == Counts(2, 3, 3)
    assert account.last_stamp == account.subscription(C).revision == 1_003


def test_upload_leaves_first_so_that_there_is_room_for_what_it_adds():
    account = Account(A, B, limits=TWO)
    items = [want(url, None) for url in (C, D)]
    synced = account.do(url_lists.upload, items, [parse_feed_url(A)])
    assert [type(one) for one in synced.results] == [Added, Refused]


def test_whole_list_without_room_is_refused_whole():
    account = Account(A, B, limits=TWO)
    with pytest.raises(InvalidInput, match=r"is the maximum.* So nothing was changed\."):
        account.do(url_lists.replace_list, whole_list([B, C, D]))
    account.do(url_lists.replace_list, whole_list([C, D]))
    assert account.counts.subscribed == 2


def test_move_finds_room_or_is_refused():
    account = Account(A, limits=Limits(1, 1))
    old, new = parse_feed_url(A), parse_feed_url(B)
    with pytest.raises(InvalidInput, match="list has 1 entries"):
        account.do(url_lists.move, old, new, notify_apps=False)
    account.limits = Limits(1, 2)
    account.do(url_lists.move, old, new, notify_apps=False)
