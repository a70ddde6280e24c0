"""How much an account's list may hold, and what is said when it is full."""

import pytest
from test_subscriptions import DEFAULT_LIMITS, Account

from feedkeep.model import Counts, Guid, Limits, Subscription, replace
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import subscriptions, url_lists
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import check_limits, count, limits_for
from feedkeep.rules.subscriptions import Added, Refused, Update, want
from feedkeep.rules.url_lists import whole_list

A, B, C, D = (f"https://{letter}.example" for letter in "abcd")
GUID = Guid("00000000-0000-4000-8000-000000000001")
TWO = Limits(subscriptions=2, entries=10)
FULL = (
    "This account has 2 subscriptions, which is the maximum. Unsubscribe from another feed first."
)


def guid(url: str) -> Guid:
    return parse_feed_url(url).guid


def added(account: Account, *urls: str) -> list[Added | Refused]:
    items = [want(url, None) for url in urls]
    return account.keep(subscriptions.add(account.snapshot(), items))


def update(account: Account, url: str, change: Update) -> None:
    account.keep(subscriptions.update(account.snapshot(), guid(url), change))


def test_adding_to_a_list_without_its_limits_is_refused_as_a_defect():
    account = Account()
    snapshot = replace(account.snapshot(), limits=None)
    with pytest.raises(LookupError, match="limits were not loaded"):
        subscriptions.add(snapshot, [want(A, None)])


# C3.12, C3.13, C3.15
def test_a_list_has_20_000_subscriptions_and_five_times_as_many_entries_at_most():
    full, fullest = Counts(subscribed=20_000, entries=100_000), Counts(20_001, 0, 100_001)
    check_limits(Counts(19_999, 0, 99_999), full, DEFAULT_LIMITS)
    check_limits(full, full, DEFAULT_LIMITS)
    check_limits(fullest, fullest, DEFAULT_LIMITS)
    for after in (Counts(20_001, 0, 100_000), Counts(20_000, 0, 100_001)):
        with pytest.raises(InvalidInput, match="which is the maximum"):
            check_limits(full, after, DEFAULT_LIMITS)


# C3.12, C3.14
def test_items_that_find_no_room_fail_each_with_a_clear_reason_and_the_others_are_added():
    account = Account(limits=TWO)
    results = added(account, A, B, C, A, D)
    assert [type(one) for one in results] == [Added, Added, Refused, Added, Refused]
    assert [one.message for one in results if isinstance(one, Refused)] == [FULL, FULL]
    assert account.counts.subscribed == 2


def test_after_unsubscribing_or_deleting_there_is_room_again():
    account = Account(limits=TWO)
    added(account, A, B)
    update(account, A, Update(is_subscribed=False))
    assert isinstance(added(account, C)[0], Added)
    with pytest.raises(InvalidInput, match="has 2 subscriptions, which is the maximum"):
        update(account, A, Update(is_subscribed=True))
    account.delete(guid(C))
    update(account, A, Update(is_subscribed=True))
    assert account.counts.subscribed == 2


# C3.15
def test_a_list_that_is_longer_than_it_may_be_can_still_be_changed_but_not_grow():
    account = Account(limits=limits_for(3))
    added(account, A, B, C)
    account.limits = TWO
    update(account, A, Update(new_feed_url=parse_feed_url(D)))
    update(account, B, Update(is_subscribed=True))
    assert isinstance(added(account, C)[0], Added)
    assert isinstance(added(account, "https://e.example")[0], Refused)


# C3.13
def test_adding_and_deleting_without_end_reaches_a_limit():
    account = Account(limits=TWO)
    for number in range(10):
        url = f"https://a.example/{number}"
        assert isinstance(added(account, url)[0], Added)
        account.delete(guid(url))
    (refused,) = added(account, A)
    assert isinstance(refused, Refused)
    assert refused.message.startswith("This account's list has 10 entries, including those")
    assert isinstance(added(account, "https://a.example/3")[0], Added)  # one that it knows


# C3.13
def test_renaming_and_moving_without_end_reaches_a_limit():
    account = Account(limits=TWO)
    added(account, A)
    for number in range(1, 10):
        update(account, A, Update(new_guid=Guid(f"{GUID[:-1]}{number}")))
    for change in (
        Update(new_guid=Guid(f"{GUID[:-1]}a")), Update(new_feed_url=parse_feed_url(B)),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="list has 10 entries"):
            update(account, A, change)
    item = want(B, Guid(f"{GUID[:-1]}b"))
    (refused,) = subscriptions.add(account.snapshot(), [item]).outcome
    assert isinstance(refused, Refused)


# C3.13, C3.14
def test_an_entry_counts_once_for_each_kib_that_it_begins():
    account = Account(limits=Limits(20, 10))
    urls = [f"https://{letter}.example/{'x' * 2_600}" for letter in "abc"]  # 4 each
    results = added(account, urls[0], urls[1], urls[2], A, B, C)
    assert [type(one) for one in results] == [Added, Added, Refused, Added, Added, Refused]
    assert account.counts.entries == 10
    known = [feed for feed in account.entries.values() if isinstance(feed, Subscription)]
    assert {feed.feed_url for feed in known} == {urls[0], urls[1], A, B}


# C3.15
def test_a_full_list_accepts_what_unsubscribes_and_refuses_what_makes_a_row_larger():
    account = Account(limits=Limits(20, 9))
    long, longer = (f"https://a.example/{'x' * size}" for size in (2_600, 2_601))
    added(account, long, A, B, C, D, "https://e.example")
    assert account.counts.entries == 9
    for url in (long, A):
        update(account, url, Update(is_subscribed=False))
        assert isinstance(added(account, url)[0], Added)
        with pytest.raises(InvalidInput, match="list has 9 entries"):
            update(account, url, Update(new_feed_url=parse_feed_url(longer)))
    account.delete(guid(long))
    account.keep(url_lists.upload(account.snapshot(), [], [parse_feed_url(A)]))
    assert account.counts == Counts(subscribed=4, announced=6, entries=9)


# C3.14
def test_an_item_that_finds_no_room_leaves_nothing_behind():
    account = Account(limits=Limits(20, 4))
    added(account, A, B)
    account.delete(guid(B))
    items = [want(f"https://a.example/{'x' * 2_600}", GUID), want(C, None)]
    decision = subscriptions.add(account.snapshot(), items)
    assert [type(one) for one in decision.outcome] == [Refused, Added]
    assert [entry.guid for entry in decision.saved] == [guid(C)]
    account.keep(decision)
    assert account.counts == count(account.entries.values()) == Counts(2, 3, 3)
    assert account.last_stamp == account.subscription(guid(C)).revision == 1_003


def test_an_upload_leaves_first_so_that_there_is_room_for_what_it_adds():
    account = Account(limits=TWO)
    added(account, A, B)
    items, removed = [want(url, None) for url in (C, D)], [parse_feed_url(A)]
    synced = account.keep(url_lists.upload(account.snapshot(), items, removed))
    assert [type(one) for one in synced.results] == [Added, Refused]


def test_a_whole_list_that_finds_no_room_is_refused_whole():
    account = Account(limits=TWO)
    added(account, A, B)
    with pytest.raises(InvalidInput, match=r"is the maximum.* So nothing was changed\."):
        url_lists.replace_list(account.snapshot(), whole_list([B, C, D]))
    account.keep(url_lists.replace_list(account.snapshot(), whole_list([C, D])))
    assert account.counts.subscribed == 2


def test_a_move_finds_room_or_is_refused():
    account = Account(limits=Limits(1, 1))
    added(account, A)
    old, new = parse_feed_url(A), parse_feed_url(B)
    with pytest.raises(InvalidInput, match="list has 1 entries"):
        url_lists.move(account.snapshot(), old, new, notify_apps=False)
    account.limits = Limits(1, 2)
    url_lists.move(account.snapshot(), old, new, notify_apps=False)
