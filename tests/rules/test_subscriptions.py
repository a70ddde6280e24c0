"""Contract, sections 3 to 6: what is seen of stamps, limits and decisions below the interface."""

import pytest
from kept_account import G1, G2, G3, URLS, A, Account, B, C, D, guid

from feedkeep.model import Alias, Guid, Limits, NotLookedUp, Pointer, View
from feedkeep.model.errors import DeletedSubscription, InvalidInput, UnknownSubscription
from feedkeep.rules import subscriptions
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.seen_feeds import NEVER
from feedkeep.rules.subscriptions import MAX_POINTERS, MAX_REDIRECTS, Added, Refused, want


@pytest.fixture
def account():
    return Account((A, G1))


def merged() -> Account:
    """Return an account whose feed G2 has the URL A, and B from a merge."""
    account = Account((A, G1), (B, G2))
    account.merge(G1, G2)
    return account


def leads(account: Account, *sent: str) -> set[Guid]:
    return {account.pointer(one).new_guid for one in sent}


# C4.1
def test_every_entry_of_one_request_has_a_stamp_of_its_own():
    account = Account(A, B, C)
    assert [account.subscription(url).revision for url in (A, B, C)] == [1_000, 1_001, 1_002]
    assert account.last_stamp == 1_002


def test_pointers_are_stamped_before_the_subscription_that_they_lead_to():
    account = merged()
    assert account.pointer(G1).guid_changed < account.subscription(G2).guid_changed
    assert account.subscription(G2).guid_changed == account.last_stamp


# C4.4
def test_leading_an_old_pointer_to_a_newer_guid_is_not_a_change_of_it(account):
    account.merge(G1, G2)
    before = account.pointer(G1).guid_changed
    account.merge(G2, G3)
    assert account.pointer(G1) == Pointer(G1, G3, before)


def test_pointer_that_a_new_subscription_takes_from_a_deleted_one_is_stamped_again():
    account = Account(A)
    account.merge(A, G1)
    account.move(G1, B)
    before = account.pointer(A).guid_changed
    account.delete(G1)
    account.add((A, G2))
    assert account.pointer(A).new_guid == G2
    assert before < account.pointer(A).guid_changed < account.subscription(G2).revision


# C8.5
@pytest.mark.parametrize("revive_with", [None, G3])
def test_pointers_of_a_guid_that_is_taken_over_are_stamped_again(account, revive_with):
    account.merge(G1, guid(A))  # a device is told that G1 leads to A's guid
    account.move(A, B, new_guid=G2)
    account.delete(G2)
    told = account.last_stamp
    account.add((A, revive_with))
    assert account.pointer(G1).new_guid == G2
    assert account.pointer(G1).guid_changed > told


# C5.29
@pytest.mark.parametrize(
    ("items", "guids"),
    [
        ([(A, G1), (B, G1)], [G1, guid(B)]),
        ([(A, G1), (B, G1), (A, G1), (C, G1)], [G1, guid(B), G1, guid(C)]),
        ([("http://a.example/feed/", G1), (A, G1)], [G1, G1]),
        ([(B, G1), (B, G2), (A, G1)], [G2, G2, guid(A)]),
        # The guid of a URL of the request is the one of that URL, whichever comes first.
        ([(B, guid(A)), (A, guid(A))], [guid(B), guid(A)]),
        ([(B, guid(A)), (A, None)], [guid(B), guid(A)]),
        ([(A, G1), (B, guid(A))], [G1, guid(B)]),
    ],
)
def test_copied_guid_costs_no_feed(items, guids):
    account = Account()
    for _ in range(2):  # as after a lost response
        assert [item.subscription.guid for item in account.add(*items)] == guids
    assert {feed.guid for feed in subscriptions.subscribed(account.snapshot())} == set(guids)


# C5.5, C5.29
def test_guid_of_the_list_is_the_identity_of_the_first_item_that_has_it(account):
    account.add((B, G1), (C, G1))
    assert account.urls() == [A, C]
    assert account.pointer(B).new_guid == G1


@pytest.mark.parametrize("before", [[], [A], [B], [A, B]])
def test_guid_that_two_feeds_of_a_file_have_loses_neither(before):
    account = Account(*before)
    account.read_file((A, G1), (B, G1))
    assert account.subscribed() == {A, B}


def test_file_merges_no_feeds_and_doubles_none_that_has_moved():
    account = Account(A, B)
    account.read_file((B, guid(A)))
    assert account.subscribed() == {A, B}
    account = Account(A)
    (result,) = account.read_file((B, guid(A)))
    assert result.was_subscribed
    assert account.urls() == [A]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_second", [True, False])
def test_merge_is_subscribed_if_either_was(is_first, is_second):
    account = Account((A, G1), (B, G2))
    account.update(G1, is_subscribed=is_first)
    account.update(G2, is_subscribed=is_second)
    account.merge(G1, G2)
    assert account.subscription(G2).is_subscribed == (is_first or is_second)


def test_item_saves_its_own_entry_only_and_a_refused_one_none_and_no_stamp():
    decision = subscriptions.add(Account(A, B).snapshot(), [want(A, None)])
    assert [entry.guid for entry in decision.saved] == [guid(A)]
    refused = [want("a.example", None), want(A, "no guid")]
    decision = subscriptions.add(Account().snapshot(), refused)
    assert (decision.saved, decision.forgotten, decision.last_stamp) == ([], [], 0)
    assert [type(item) for item in decision.outcome] == [Refused, Refused]


def crowded() -> Account:
    """Return an account with a subscription G1 that as many pointers lead to as may."""
    account = Account((A, G1))
    for number in range(MAX_POINTERS - 1):  # in one request, only the first would keep the guid
        account.add((f"https://a.example/{number}", G1))
    return account


def test_subscription_has_at_most_a_thousand_pointers_and_items_that_make_more_fail():
    account = crowded()
    before = account.snapshot()
    (result,) = account.add((f" {B} ", G1))
    assert isinstance(result, Refused)
    assert result.feed_url == f" {B} "
    assert "at most 1,000" in result.message
    assert account.snapshot() == before
    (result,) = account.add((A, G1))
    assert isinstance(result, Added)
    account.add((C, G3))
    for change in ({"new_guid": G2}, {"new_feed_url": parse_feed_url(B)}, {"new_guid": G3}):
        with pytest.raises(InvalidInput, match="at most 1,000"):
            account.update(G1, **change)
    results = account.add(B, (B, G1), D)
    assert [type(result) for result in results] == [Added, Refused, Added]
    assert account.subscription(B).is_subscribed
    assert account.subscription(D).revision == account.last_stamp


# C3.11
def test_add_many_guids_of_one_url_redirects_a_bounded_number_of_pointers():
    account = Account(A)
    guids = [f"{number:08x}-0000-4000-9000-000000000000" for number in range(900)]
    results = account.add(*((A, sent) for sent in guids), (B, G1), B)
    refused = [result for result in results if isinstance(result, Refused)]
    assert sum(range(900 - len(refused))) <= MAX_REDIRECTS < sum(range(901 - len(refused)))
    assert {result.message for result in refused} == {
        "Too many guids of the same feeds in one request: send this item in another one."
    }
    assert account.subscription(guids[899 - len(refused)]).is_subscribed
    assert account.subscription(G1).feed_url == B


def test_pointer_has_a_url_that_is_former_or_absorbed_or_was_sent_beside_a_guid():
    account = Account((A, G1), (B, G2))
    account.move(G1, "https://a.example/new")
    account.merge(G1, G2)
    account.add((C, G2))
    before_the_merge = Alias(A, moved_away=False, first_had=1_000)
    assert account.pointer(A).alias == before_the_merge
    assert account.pointer(B).alias == Alias(B, moved_away=False, was_own=True, first_had=1_000)
    assert account.pointer(C).alias == Alias(C, moved_away=False, first_had=NEVER)
    assert account.pointer("https://a.example/new").alias is None


def test_present_guid_keeps_the_url_that_it_was_derived_from():
    account = Account(A)
    account.move(A, B)
    former = Alias(A, moved_away=True, first_had=1_000)
    assert account.subscription(A).alias == former
    account.merge(A, G1)
    assert account.pointer(A).alias == former
    account.merge(G1, guid(A))
    assert account.subscription(A).alias == former


@pytest.mark.parametrize("urls", [[B], [B, A], [B, C, B, A], [B, C, D, B, C], [C, B, A, C]])
def test_no_way_there_and_back_loses_a_url_that_came_from_a_merge(urls):
    account = merged()
    for url in urls:
        account.move(G2, url)
    assert leads(account, A, B) == {G2}


def test_move_before_a_merge_is_not_undone_after_it_and_one_after_it_is():
    account = Account((A, G1), (B, G2))
    account.move(G1, C)
    account.merge(G1, G2)
    account.move(G2, A)
    assert leads(account, C) == {G2}
    account = merged()
    account.move(G2, C)
    account.move(G2, A)
    assert guid(C) not in account.entries
    account = Account((A, G1), (B, G2))
    account.move(G2, C)
    account.merge(G1, G2)
    account.move(G2, B)
    assert leads(account, A, C) == {G2}, "it is the absorbed one's"


# C5.26
def test_url_that_an_app_has_leads_to_its_feed_after_the_move_to_it_is_undone(account):
    account.move(G1, B)
    back = subscriptions.Update(new_feed_url=parse_feed_url(A))
    account.do(subscriptions.update, G1, back, held={guid(B)})
    kept = Alias(B, moved_away=True, first_had=1_000)
    assert account.pointer(B) == Pointer(guid(B), G1, None, kept)


def test_moving_to_a_url_that_was_only_sent_beside_is_a_new_move_and_loses_no_url(account):
    account.add((B, G1))
    account.move(G1, B)
    assert leads(account, A) == {G1}


def test_reviving_with_a_former_url_loses_no_url(account):
    account.move(G1, B)
    account.delete(G1)
    account.add((A, G1))
    assert account.subscription(G1).feed_url == A
    assert leads(account, B) == {G1}


def test_only_what_is_subscribed_is_exported_oldest_change_first():
    account = Account((A, G1), (B, G2), (C, G3))
    account.update(G1, is_subscribed=True)
    account.update(G2, is_subscribed=False)
    assert account.urls() == [C, A]
    account.delete(G3)
    assert account.urls() == [A]


def test_unknown_and_deleted_subscriptions_cannot_be_read_and_those_not_loaded_are_a_defect():
    account = Account((A, G1))
    assert account.delete(G1) == account.subscription(G1).deleted == account.last_stamp
    with pytest.raises(UnknownSubscription):
        subscriptions.read(None)
    with pytest.raises(DeletedSubscription):
        subscriptions.read(View(account.pointer(A), account.subscription(G1)))
    with pytest.raises(LookupError):
        subscriptions.read(NotLookedUp.NOT_LOOKED_UP)


def test_feed_was_had_first_when_its_url_came_whatever_becomes_of_it():
    account = Account(A, (B, G1), now=10)

    def first_had(sent=A):
        return account.subscription(sent).first_had

    account.now = 20
    account.add(A)
    account.update(A, is_subscribed=False)
    account.delete(A)
    account.add(A)
    assert first_had() == 10
    account.move(A, C)
    assert first_had() == 20
    account.now = 30
    account.move(A, D)
    account.move(A, A)
    assert first_had() == 10
    account.move(A, A.replace("https", "http"))  # the same feed
    assert first_had() == 10
    account.move(A, C)
    assert first_had() == 20  # as before
    account.merge(A, G1)
    assert first_had(G1) == 20
    assert account.pointer(B).alias.first_had == 10
    account.now = 40
    account.move(G1, B)
    assert first_had(G1) == 10


def test_claiming_the_guid_of_a_feed_is_not_having_it():
    account = Account((A, guid(B)), now=10)
    account.now = 20
    account.move(guid(B), B)
    assert account.subscription(B).first_had == 20
    account.delete(B)
    account.now = 30
    account.add(A)  # it was a former URL, and was had from its beginning on
    assert account.subscription(A).first_had == 10


def test_url_that_was_only_sent_beside_a_guid_was_not_had_until_the_feed_moves_to_it():
    account = Account((A, G1), now=10)
    for _ in range(2):
        account.add((B, G1))
        assert account.pointer(B).alias == Alias(B, moved_away=False, first_had=NEVER)
    account.now = 20
    account.move(G1, B)
    assert account.subscription(G1).first_had == 20
    account.add((A, G1))  # which it was, and so it stays
    assert account.pointer(A).alias == Alias(A, moved_away=True, first_had=10)


def test_copy_with_an_escaped_ampersand_is_the_known_url_unless_an_app_sends_it():
    url, copy = "https://a.example/?a=1&b=2", "https://a.example/?a=1&amp;b=2"
    account = Account()
    account.read_file(url, copy)
    assert account.urls() == [url, copy], "a file that has both is taken at its word"
    account = Account(url)
    (result,) = account.read_file(copy)
    assert result.was_subscribed
    assert account.urls() == [url]
    account.add(copy)
    assert account.urls() == [url, copy]


# Subscribing to several at once, and unsubscribing


def set_subscribed(account: Account, is_subscribed: bool, *urls: str) -> int:
    return account.do(subscriptions.set_subscribed, list(map(guid, urls)), is_subscribed)


def test_set_subscribed_stamps_each_feed_that_changes_and_leaves_the_others():
    account = Account(A, B, C, D)
    before = account.subscription(C)
    first = next_stamp(account.last_stamp, account.now)
    assert set_subscribed(account, False, B, A, B, "https://unknown.example") == 2
    assert account.subscribed() == {C, D}
    feeds = [account.subscription(url) for url in (B, A)]
    assert [feed.status_changed for feed in feeds] == [first, first + 1]
    assert [feed.subscription_changed for feed in feeds] == [first, first + 1]
    assert account.subscription(C) == before


@pytest.mark.parametrize("urls", [[], [A], ["https://unknown.example"], [C]])
def test_set_subscribed_that_changes_nothing_draws_no_stamp(urls):
    account = Account(A, B, C)
    account.delete(C)
    last = account.last_stamp
    assert set_subscribed(account, True, *urls) == 0
    assert account.last_stamp == last


def test_set_subscribed_takes_none_of_several_that_a_full_list_has_no_room_for():
    account = Account(A, B, C)
    set_subscribed(account, False, A, B)
    account.limits = Limits(2, 100)
    with pytest.raises(InvalidInput, match="maximum"):
        set_subscribed(account, True, A, B)
    assert account.subscribed() == {C}


def test_what_was_added_new_is_counted_once_and_what_was_there_is_not():
    account = Account(*URLS[:2])
    account.leave(URLS[1])
    assert subscriptions.count_added(account.add(*URLS[:3], URLS[2], "x")) == 2
    assert subscriptions.count_added(account.add(URLS[0])) == 0
    account.leave(URLS[0])
    assert subscriptions.count_unsubscribed(account.snapshot()) == 1
