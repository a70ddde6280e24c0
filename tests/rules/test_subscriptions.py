"""Contract, sections 3 to 6: what is seen of stamps, limits and decisions below the interface."""

import pytest
from kept_states import KeptStates

from feedkeep.model import (
    Alias,
    Counts,
    Decision,
    Entry,
    Guid,
    Limits,
    NotLookedUp,
    Pointer,
    Snapshot,
    Subscription,
    T,
    View,
    replace,
)
from feedkeep.model.errors import DeletedSubscription, InvalidInput, UnknownSubscription
from feedkeep.rules import subscriptions
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS, limits_for
from feedkeep.rules.seen_feeds import NEVER
from feedkeep.rules.subscriptions import MAX_POINTERS, MAX_REDIRECTS, Added, Refused, Update, want

A, B, C = "https://a.example/feed", "https://b.example/feed", "https://c.example/feed"
D = "https://d.example/feed"
G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))
DEFAULT_LIMITS = limits_for(MAX_SUBSCRIPTIONS)


def guid(url: str) -> Guid:
    return parse_feed_url(url).guid


class Account:
    """One account's entries, changed the way a store changes them."""

    def __init__(self, now: int = 1_000, limits: Limits = DEFAULT_LIMITS) -> None:
        self.entries: dict[Guid, Entry] = {}
        self.last_stamp = 0
        self.counts = Counts()
        self.now = now
        self.limits = limits
        self.kept = KeptStates()

    def snapshot(self) -> Snapshot:
        state = (dict(self.entries), self.last_stamp, self.now, self.counts)
        return Snapshot(*state, limits=self.limits)

    def snapshot_with_history(self) -> Snapshot:
        return replace(self.snapshot(), history=self.kept.history())

    def keep(self, decision: Decision[T], author: str = "") -> T:
        if decision.saved or decision.forgotten:
            self.kept.keep(decision, author)
        self.entries |= {entry.guid: entry for entry in decision.saved}
        for forgotten in decision.forgotten:
            del self.entries[forgotten]
        self.last_stamp = decision.last_stamp
        self.counts = decision.counts
        return decision.outcome

    def add(self, *items: tuple[str, str | None]) -> list[Added | Refused]:
        wanted = [want(url, sent) for url, sent in items]
        return self.keep(subscriptions.add(self.snapshot(), wanted))

    def read_file(self, *items: tuple[str, str | None]) -> list[Added | Refused]:
        wanted = [want(url, sent, is_from_file=True) for url, sent in items]
        return self.keep(subscriptions.add(self.snapshot(), wanted))

    def urls(self) -> list[str]:
        return [feed.feed_url for feed in subscriptions.subscribed(self.snapshot())]

    def update(self, sent: Guid, change: Update) -> subscriptions.Updated:
        return self.keep(subscriptions.update(self.snapshot(), sent, change))

    def move(self, sent: Guid, url: str) -> None:
        self.update(sent, Update(new_feed_url=parse_feed_url(url)))

    def delete(self, sent: Guid) -> int:
        return self.keep(subscriptions.delete(self.snapshot(), sent)).id

    def subscription(self, sent: Guid) -> Subscription:
        entry = self.entries[sent]
        assert isinstance(entry, Subscription)
        return entry

    def pointer(self, sent: Guid) -> Pointer:
        entry = self.entries[sent]
        assert isinstance(entry, Pointer)
        return entry


# C4.1
def test_every_entry_of_one_request_has_a_stamp_of_its_own():
    account = Account()
    account.add((A, None), (B, None), (C, None))
    assert [account.subscription(guid(url)).revision for url in (A, B, C)] == [1_000, 1_001, 1_002]
    assert account.last_stamp == 1_002


def test_pointers_are_stamped_before_the_subscription_that_they_lead_to():
    account = Account()
    account.add((A, G1), (B, G2))
    account.update(G1, Update(new_guid=G2))
    stamps = [account.pointer(G1).guid_changed, account.subscription(G2).guid_changed]
    assert stamps == sorted(stamps, key=lambda stamp: stamp or 0)
    assert account.subscription(G2).guid_changed == account.last_stamp


# C4.4
def test_leading_an_old_pointer_to_a_newer_guid_is_not_a_change_of_it():
    account = Account()
    account.add((A, G1))
    account.update(G1, Update(new_guid=G2))
    before = account.pointer(G1).guid_changed
    account.update(G2, Update(new_guid=G3))
    assert account.pointer(G1) == Pointer(G1, G3, before)


def test_a_pointer_that_a_new_subscription_takes_from_a_deleted_one_is_stamped_again():
    account = Account()
    account.add((A, None))
    account.update(guid(A), Update(new_guid=G1))
    account.move(G1, B)
    before = account.pointer(guid(A)).guid_changed
    account.delete(G1)
    account.add((A, G2))
    assert account.pointer(guid(A)).new_guid == G2
    assert (account.pointer(guid(A)).guid_changed or 0) > (before or 0)
    assert (account.pointer(guid(A)).guid_changed or 0) < account.subscription(G2).revision


# C8.5
@pytest.mark.parametrize("revive_with", [None, G3])
def test_pointers_that_devices_follow_through_a_guid_that_is_taken_over_are_stamped_again(
    revive_with,
):
    account = Account()
    account.add((A, G1))
    account.update(G1, Update(new_guid=guid(A)))  # a device is told that G1 leads to A's guid
    account.update(guid(A), Update(new_guid=G2, new_feed_url=parse_feed_url(B)))
    account.delete(G2)
    told = account.last_stamp
    account.add((A, revive_with))
    assert account.pointer(G1).new_guid == G2
    assert (account.pointer(G1).guid_changed or 0) > told


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
def test_a_copied_guid_costs_no_feed(items, guids):
    account = Account()
    for _ in range(2):  # as after a lost response
        results = account.add(*items)
        assert [item.subscription.guid for item in results if isinstance(item, Added)] == guids
    there = subscriptions.subscribed(account.snapshot())
    assert {feed.guid for feed in there} == set(guids)


# C5.5, C5.29
def test_a_guid_of_the_list_is_the_identity_of_the_first_item_that_has_it():
    account = Account()
    account.add((A, G1))
    account.add((B, G1), (C, G1))
    assert account.urls() == [A, C]
    assert account.pointer(guid(B)).new_guid == G1


@pytest.mark.parametrize("before", [[], [A], [B], [A, B]])
def test_a_guid_that_two_feeds_of_a_file_have_loses_neither(before):
    account = Account()
    account.add(*((url, None) for url in before))
    account.read_file((A, G1), (B, G1))
    assert set(account.urls()) == {A, B}


def test_a_file_merges_no_feeds_and_changes_no_url():
    account = Account()
    account.add((A, None), (B, None))
    account.read_file((B, guid(A)))
    assert set(account.urls()) == {A, B}


def test_a_file_that_has_a_feed_where_it_has_moved_to_does_not_double_it():
    account = Account()
    account.add((A, None))
    (result,) = account.read_file((B, guid(A)))
    assert isinstance(result, Added)
    assert result.was_subscribed
    assert account.urls() == [A]


def test_merging_is_subscribed_if_either_was():
    for is_first, is_second in ((True, True), (True, False), (False, True), (False, False)):
        account = Account()
        account.add((A, G1), (B, G2))
        account.update(G1, Update(is_subscribed=is_first))
        account.update(G2, Update(is_subscribed=is_second))
        account.update(G1, Update(new_guid=G2))
        assert account.subscription(G2).is_subscribed == (is_first or is_second)


def test_an_item_that_changes_nothing_but_its_stamp_leaves_other_entries_alone():
    account = Account()
    account.add((A, None), (B, None))
    decision = subscriptions.add(account.snapshot(), [want(A, None)])
    assert [entry.guid for entry in decision.saved] == [guid(A)]


def test_a_refused_item_changes_nothing_and_takes_no_stamp():
    account = Account()
    decision = subscriptions.add(account.snapshot(), [want("a.example", None), want(A, "no guid")])
    assert (decision.saved, decision.forgotten, decision.last_stamp) == ([], [], 0)
    assert [type(item) for item in decision.outcome] == [Refused, Refused]


def crowded(pointers: int) -> Account:
    """Return an account with a subscription G1 that so many pointers lead to."""
    account = Account()
    account.add((A, G1))
    for number in range(pointers - 1):  # in one request, only the first would keep the guid
        account.add((f"https://a.example/{number}", G1))
    return account


def test_a_subscription_has_at_most_a_thousand_pointers_and_an_item_too_many_fails():
    account = crowded(MAX_POINTERS)
    before = account.snapshot()
    (result,) = account.add((f" {B} ", G1))
    assert isinstance(result, Refused)
    assert result.feed_url == f" {B} "
    assert "at most 1,000" in result.message
    assert account.snapshot() == before


# C3.11
def test_add_many_guids_of_one_url_redirects_a_bounded_number_of_pointers():
    account = Account()
    account.add((A, None))
    guids = [f"{number:08x}-0000-4000-9000-000000000000" for number in range(900)]
    results = account.add(*((A, sent) for sent in guids), (B, G1), (B, None))
    refused = [result for result in results if isinstance(result, Refused)]
    assert sum(range(900 - len(refused))) <= MAX_REDIRECTS < sum(range(901 - len(refused)))
    assert {result.message for result in refused} == {
        "Too many guids of the same feeds in one request: send this item in another one."
    }
    assert account.subscription(Guid(guids[899 - len(refused)])).is_subscribed
    assert account.subscription(G1).feed_url == B


def test_an_item_that_makes_no_pointer_is_taken_by_a_subscription_with_a_thousand():
    account = crowded(MAX_POINTERS)
    (result,) = account.add((A, G1))
    assert isinstance(result, Added)


def test_items_around_one_that_makes_too_many_pointers_are_added():
    account = crowded(MAX_POINTERS)
    results = account.add((B, None), (B, G1), (C, None))
    assert [type(result) for result in results] == [Added, Refused, Added]
    assert account.subscription(guid(B)).is_subscribed
    assert account.subscription(guid(C)).revision == account.last_stamp


@pytest.mark.parametrize(
    "change",
    [Update(new_guid=G2), Update(new_feed_url=parse_feed_url(B)), Update(new_guid=G3)],
)
def test_an_update_that_makes_too_many_pointers_is_refused_and_changes_nothing(change):
    account = crowded(MAX_POINTERS)
    account.add((C, G3))
    with pytest.raises(InvalidInput, match="at most 1,000"):
        subscriptions.update(account.snapshot(), G1, change)


def test_a_pointer_has_the_text_of_a_url_that_is_former_or_absorbed_or_was_sent_beside_a_guid():
    account = Account()
    account.add((A, G1), (B, G2))
    account.move(G1, "https://a.example/new")
    account.update(G1, Update(new_guid=G2))
    account.add((C, G2))
    assert account.pointer(guid(A)).alias == Alias(
        A, moved_away=False, first_had=1_000
    )  # before the merge
    assert account.pointer(guid(B)).alias == Alias(
        B, moved_away=False, was_own=True, first_had=1_000
    )
    assert account.pointer(guid(C)).alias == Alias(C, moved_away=False, first_had=NEVER)
    assert account.pointer(guid("https://a.example/new")).alias is None


def test_the_present_guid_keeps_the_text_of_the_url_that_it_was_derived_from():
    account = Account()
    account.add((A, None))
    account.move(guid(A), B)
    assert account.subscription(guid(A)).alias == Alias(A, moved_away=True, first_had=1_000)
    account.update(guid(A), Update(new_guid=G1))
    assert account.pointer(guid(A)).alias == Alias(A, moved_away=True, first_had=1_000)
    account.update(G1, Update(new_guid=guid(A)))
    assert account.subscription(guid(A)).alias == Alias(A, moved_away=True, first_had=1_000)


def test_moving_to_a_url_that_was_absorbed_is_a_new_move_and_loses_no_url():
    account = Account()
    account.add((A, G1), (B, G2))
    account.update(G1, Update(new_guid=G2))
    account.move(G2, B)
    assert account.pointer(guid(A)).new_guid == G2


@pytest.mark.parametrize(
    "urls",
    [
        [B, A],
        [B, C, B, A],
        [B, C, D, B, C],
        [C, B, A, C],
    ],
)
def test_no_way_there_and_back_loses_a_url_that_came_from_a_merge(urls):
    account = Account()
    account.add((A, G1), (B, G2))
    account.update(G1, Update(new_guid=G2))
    for url in urls:
        account.move(G2, url)
    assert account.pointer(guid(A)).new_guid == account.pointer(guid(B)).new_guid == G2


def test_a_move_before_a_merge_is_not_undone_after_it():
    account = Account()
    account.add((A, G1), (B, G2))
    account.move(G1, C)
    account.update(G1, Update(new_guid=G2))
    account.move(G2, A)
    assert account.pointer(guid(C)).new_guid == G2


def test_a_move_after_a_merge_can_be_undone():
    account = Account()
    account.add((A, G1), (B, G2))
    account.update(G1, Update(new_guid=G2))
    account.move(G2, C)
    account.move(G2, A)
    assert guid(C) not in account.entries


# C5.26
def test_a_url_that_an_app_is_known_to_have_leads_here_after_the_move_to_it_is_undone():
    account = Account()
    account.add((A, G1))
    account.move(G1, B)
    back = Update(new_feed_url=parse_feed_url(A))
    account.keep(subscriptions.update(account.snapshot(), G1, back, held={guid(B)}))
    assert account.pointer(guid(B)) == Pointer(
        guid(B), G1, None, Alias(B, moved_away=True, first_had=1_000)
    )


def test_moving_to_a_url_that_was_only_sent_beside_is_a_new_move_and_loses_no_url():
    account = Account()
    account.add((A, G1))
    account.add((B, G1))
    account.move(G1, B)
    assert account.pointer(guid(A)).new_guid == G1


def test_moves_of_an_absorbed_subscription_cannot_be_undone():
    account = Account()
    account.add((A, G1), (B, G2))
    account.move(G2, C)
    account.update(G1, Update(new_guid=G2))
    account.move(G2, B)
    assert account.pointer(guid(A)).new_guid == G2
    assert account.pointer(guid(C)).new_guid == G2


def test_reviving_with_a_former_url_loses_no_url():
    account = Account()
    account.add((A, G1))
    account.move(G1, B)
    account.delete(G1)
    account.add((A, G1))
    assert account.subscription(G1).feed_url == A
    assert account.pointer(guid(B)).new_guid == G1


def test_a_deletion_is_known_by_its_stamp():
    account = Account()
    account.add((A, G1))
    assert account.delete(G1) == account.subscription(G1).deleted == account.last_stamp


def test_only_what_is_subscribed_is_exported_oldest_change_first():
    account = Account()
    account.add((A, G1), (B, G2), (C, G3))
    account.update(G1, Update(is_subscribed=True))
    account.update(G2, Update(is_subscribed=False))
    assert [item.guid for item in subscriptions.subscribed(account.snapshot())] == [G3, G1]
    account.delete(G3)
    assert [item.guid for item in subscriptions.subscribed(account.snapshot())] == [G1]


def test_an_entry_that_was_not_loaded_is_a_defect_and_never_reported_missing():
    with pytest.raises(LookupError):
        subscriptions.read(NotLookedUp.NOT_LOOKED_UP)


def test_an_unknown_and_a_deleted_subscription_cannot_be_read():
    account = Account()
    account.add((A, G1))
    account.delete(G1)
    deleted = account.subscription(G1)
    with pytest.raises(UnknownSubscription):
        subscriptions.read(None)
    with pytest.raises(DeletedSubscription):
        subscriptions.read(View(account.pointer(guid(A)), deleted))


def test_a_feed_was_had_first_when_its_url_came_whatever_becomes_of_it():
    account = Account(now=10)
    account.add((A, None), (B, G1))
    account.now = 20
    account.add((A, None))
    account.update(guid(A), Update(is_subscribed=False))
    account.delete(guid(A))
    account.add((A, None))
    assert account.subscription(guid(A)).first_had == 10
    account.move(guid(A), C)
    assert account.subscription(guid(A)).first_had == 20
    account.now = 30
    account.move(guid(A), D)
    account.move(guid(A), A)
    assert account.subscription(guid(A)).first_had == 10
    account.move(guid(A), A.replace("https", "http"))  # the same feed
    assert account.subscription(guid(A)).first_had == 10
    account.move(guid(A), C)
    assert account.subscription(guid(A)).first_had == 20  # as before
    account.update(guid(A), Update(new_guid=G1))
    assert account.subscription(G1).first_had == 20
    merged = account.pointer(guid(B)).alias
    assert merged is not None
    assert merged.first_had == 10
    account.now = 40
    account.move(G1, B)
    assert account.subscription(G1).first_had == 10


def test_to_claim_the_guid_of_a_feed_is_not_to_have_it():
    account = Account(now=10)
    account.add((A, guid(B)))
    account.now = 20
    account.move(guid(B), B)
    assert account.subscription(guid(B)).first_had == 20


def test_a_former_url_that_becomes_a_feed_again_was_had_from_its_beginning_on():
    account = Account(now=10)
    account.add((A, G1))
    account.move(G1, B)
    account.delete(G1)
    account.now = 20
    account.add((A, None))
    assert account.subscription(guid(A)).first_had == 10


def test_a_url_that_was_only_sent_beside_a_guid_was_never_had_until_the_feed_moves_to_it():
    account = Account(now=10)
    account.add((A, G1))
    for _ in range(2):
        account.add((B, G1))
        assert account.pointer(guid(B)).alias == Alias(B, moved_away=False, first_had=NEVER)
    account.now = 20
    account.move(G1, B)
    assert account.subscription(G1).first_had == 20
    account.add((A, G1))  # which it was, and so it stays
    assert account.pointer(guid(A)).alias == Alias(A, moved_away=True, first_had=10)


def test_copy_with_an_escaped_ampersand_is_the_known_url_unless_an_app_sends_it():
    url, copy = "https://a.example/?a=1&b=2", "https://a.example/?a=1&amp;b=2"
    account = Account()
    account.read_file((url, None), (copy, None))
    assert account.urls() == [url, copy], "a file that has both is taken at its word"
    account = Account()
    account.add((url, None))
    (result,) = account.read_file((copy, None))
    assert isinstance(result, Added)
    assert result.was_subscribed
    assert account.urls() == [url]
    account.add((copy, None))
    assert account.urls() == [url, copy]
