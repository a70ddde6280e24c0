"""Subscribing to several at once, and unsubscribing."""

import pytest
from test_subscriptions import Account, guid

from feedkeep.model import Guid, Limits, Subscription
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import subscriptions
from feedkeep.rules.clock import next_stamp

URLS = [f"https://{number}.example/feed" for number in range(8)]
GUIDS = [guid(url) for url in URLS]


def account(count: int = len(URLS)) -> Account:
    filled = Account()
    filled.add(*((url, None) for url in URLS[:count]))
    return filled


def subscribed(known: Account) -> set[Guid]:
    return {
        entry.guid
        for entry in known.entries.values()
        if isinstance(entry, Subscription) and entry.is_subscribed
    }


def set_subscribed(known: Account, guids: list[Guid], is_subscribed: bool) -> int:
    return known.keep(subscriptions.set_subscribed(known.snapshot(), guids, is_subscribed))


def test_each_that_changes_gets_a_stamp_of_its_own_and_the_others_stay_as_they_are():
    known = account(4)
    before = dict(known.entries)
    unknown = guid("https://unknown.example")
    first = next_stamp(known.last_stamp, known.snapshot().now)
    assert set_subscribed(known, [GUIDS[1], GUIDS[0], GUIDS[1], unknown], False) == 2
    assert subscribed(known) == {GUIDS[2], GUIDS[3]}
    stamps = [known.entries[GUIDS[number]].status_changed for number in (1, 0)]
    assert stamps == [first, first + 1]
    assert stamps == [known.entries[GUIDS[number]].subscription_changed for number in (1, 0)]
    assert known.entries[GUIDS[2]] == before[GUIDS[2]]


@pytest.mark.parametrize("guids", [[], [GUIDS[0]], [guid("https://unknown.example")]])
def test_what_changes_nothing_draws_no_stamp(guids):
    known = account(2)
    last = known.last_stamp
    assert set_subscribed(known, guids, True) == 0
    assert known.last_stamp == last


def test_a_deleted_feed_is_not_brought_back():
    known = account(1)
    known.keep(subscriptions.delete(known.snapshot(), GUIDS[0]))
    assert set_subscribed(known, [GUIDS[0]], True) == 0


def test_a_full_list_takes_none_of_several():
    known = account(3)
    set_subscribed(known, GUIDS[:2], False)
    known.limits = Limits(2, 100)
    with pytest.raises(InvalidInput, match="maximum"):
        subscriptions.set_subscribed(known.snapshot(), GUIDS[:2], True)
    assert subscribed(known) == {GUIDS[2]}


def test_what_was_added_new_is_counted_once_and_what_was_there_is_not():
    known = account(2)
    set_subscribed(known, [GUIDS[1]], False)
    results = known.add(*((url, None) for url in (*URLS[:3], URLS[2], "x")))
    assert subscriptions.count_added(results) == 2
    assert subscriptions.count_added(known.add((URLS[0], None))) == 0
    set_subscribed(known, [GUIDS[0]], False)
    assert subscriptions.count_unsubscribed(known.snapshot()) == 1
