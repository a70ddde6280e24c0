from __future__ import annotations

import pytest
from account import Account

from feedkeep.errors import InvalidInput
from feedkeep.model import Snapshot
from feedkeep.rules import subscriptions
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Added, want
from feedkeep.rules.url_lists import to_replace, url_changes, whole_list

A, B, C = (f"https://{letter}.example" for letter in "abc")


def account_with(*urls: str) -> Account:
    account = Account()
    for url in urls:
        account.add((url, None))
    return account


def sync(account: Account, added: list[str], left: list[str]) -> list[str]:
    """Add and leave URLs; return what each that was added is kept as, or why not."""
    items = [want(url, None) for url in added]
    urls = [parse_feed_url(url) for url in left]
    outcome = account.decide(lambda snapshot: subscriptions.sync(snapshot, items, urls))
    return [
        item.subscription.feed_url if isinstance(item, Added) else item.message for item in outcome
    ]


def whole(account: Account) -> Snapshot:
    return Snapshot(account.entries, account.last_stamp, 0, account.counts)


def told(account: Account) -> tuple[list[str], list[str]]:
    changes = url_changes(account.entries.values())
    return sorted(changes.add), sorted(changes.remove)


def test_subscribed_is_added_and_unsubscribed_and_deleted_are_removed() -> None:
    account = account_with(A, B, C)
    sync(account, [], [B])
    account.delete(parse_feed_url(C).guid)
    assert told(account) == ([A], [B, C])


def test_a_feed_that_moved_is_added_and_each_former_url_removed() -> None:
    account = account_with(A)
    account.update((parse_feed_url(A).guid, {"new_feed_url": B}))
    account.update((parse_feed_url(A).guid, {"new_feed_url": C}))
    assert told(account) == ([C], [A, B])


def test_the_url_of_a_merged_subscription_is_removed() -> None:
    account = account_with(A, B)
    account.update((parse_feed_url(A).guid, {"new_guid": parse_feed_url(B).guid}))
    assert told(account) == ([A], [B])


def test_who_starts_from_nothing_has_nothing_to_remove() -> None:
    account = account_with(A, B)
    sync(account, [], [B])
    changes = url_changes(account.entries.values(), is_from_nothing=True)
    assert (list(changes.add), list(changes.remove)) == ([A], [])


def test_a_url_is_left_in_whatever_spelling_names_the_same_feed() -> None:
    account = account_with("https://a.example/feed/")
    sync(account, [], ["http://A.example/feed#top"])
    assert told(account) == ([], ["https://a.example/feed/"])


def test_leaving_a_former_url_is_the_echo_of_a_move_and_unsubscribes_nobody() -> None:
    account = account_with(A)
    account.update((parse_feed_url(A).guid, {"new_feed_url": B}))
    sync(account, [], [A])
    assert told(account) == ([B], [A])
    sync(account, [], [B])
    assert told(account) == ([], [A, B])


def test_leaving_what_is_not_subscribed_changes_nothing() -> None:
    account = account_with(A)
    sync(account, [], [A])
    before = account.last_stamp
    sync(account, [], [A, B])
    assert account.last_stamp == before


def test_a_url_that_is_both_added_and_left_is_added() -> None:
    account = account_with(A)
    sync(account, [A, B], [A, B])
    assert told(account) == ([A, B], [])


def test_a_bad_url_leaves_the_others_of_a_batch_alone() -> None:
    account = account_with()
    kept = sync(account, ["antennapod_local:1", A], [])
    assert kept[1] == A
    assert told(account) == ([A], [])


def test_what_replaces_a_list_touches_only_what_differs() -> None:
    account = account_with(A, B)
    account.update((parse_feed_url(B).guid, {"new_feed_url": C}))
    wanted = [parse_feed_url(url) for url in ("http://a.example", "https://d.example")]
    added, left = to_replace(whole(account), wanted)
    assert [url.text for url in added] == ["https://d.example"]
    assert [url.text for url in left] == [C]


def test_a_list_that_replaces_leaves_bad_urls_out_and_is_none_without_a_good_one() -> None:
    assert [url.text for url in whole_list([A, "nonsense"])] == [A]
    assert whole_list([]) == []
    with pytest.raises(InvalidInput, match="nothing was changed"):
        whole_list(["nonsense", ""])


def test_a_former_url_in_a_list_that_replaces_stands_for_the_feed() -> None:
    account = account_with(A)
    account.update((parse_feed_url(A).guid, {"new_feed_url": B}))
    account.update((parse_feed_url(A).guid, {"new_guid": "00000000-0000-4000-8000-000000000001"}))
    assert to_replace(whole(account), [parse_feed_url(A)]) == ([], [])
