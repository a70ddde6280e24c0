"""Subscribing to several at once, unsubscribing, and taking it back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_subscriptions import Account, guid

from feedkeep.errors import InvalidInput
from feedkeep.model import Guid, Stamp, Subscription
from feedkeep.rules import many, subscriptions
from feedkeep.rules.many import StatusChange
from feedkeep.rules.room import Limits

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


def set_subscribed(known: Account, guids: list[Guid], is_subscribed: bool) -> StatusChange | None:
    return known.keep(many.set_subscribed(known.snapshot(), guids, is_subscribed))


def take_back(known: Account, change: StatusChange) -> StatusChange | None:
    return known.keep(many.take_back(known.snapshot(), change))


def test_each_that_changes_gets_a_stamp_of_its_own_and_the_others_stay_as_they_are() -> None:
    known = account(4)
    before = dict(known.entries)
    unknown = guid("https://unknown.example")
    change = set_subscribed(known, [GUIDS[1], GUIDS[0], GUIDS[1], unknown], False)
    assert change is not None
    assert (change.count, change.is_subscribed) == (2, False)
    assert subscribed(known) == {GUIDS[2], GUIDS[3]}
    stamps = [known.entries[GUIDS[number]].status_changed for number in (1, 0)]
    assert stamps == [change.first, change.last]
    assert stamps == [known.entries[GUIDS[number]].subscription_changed for number in (1, 0)]
    assert known.entries[GUIDS[2]] == before[GUIDS[2]]


@pytest.mark.parametrize("guids", [[], [GUIDS[0]], [guid("https://unknown.example")]])
def test_what_changes_nothing_draws_no_stamp(guids: list[Guid]) -> None:
    known = account(2)
    last = known.last_stamp
    assert set_subscribed(known, guids, True) is None
    assert known.last_stamp == last


def test_a_deleted_feed_is_not_brought_back() -> None:
    known = account(1)
    known.keep(subscriptions.delete(known.snapshot(), GUIDS[0]))
    assert set_subscribed(known, [GUIDS[0]], True) is None
    assert take_back(known, StatusChange(Stamp(0), Stamp(10**15), 1, False)) is None


def test_a_full_list_takes_none_of_several() -> None:
    known = account(3)
    set_subscribed(known, GUIDS[:2], False)
    with pytest.raises(InvalidInput, match="maximum"):
        many.set_subscribed(known.snapshot(), GUIDS[:2], True, Limits(2, 100))
    assert subscribed(known) == {GUIDS[2]}


def test_what_was_added_new_is_taken_back_and_what_was_there_stays() -> None:
    known = account(2)
    set_subscribed(known, [GUIDS[1]], False)
    results = known.add((URLS[0], None), (URLS[1], None), (URLS[2], None), ("x", None))
    change = many.added(results)
    assert change is not None
    assert change.count == 2
    taken = take_back(known, change)
    assert taken is not None
    assert subscribed(known) == {GUIDS[0]}
    assert many.added(known.add((URLS[0], None))) is None
    assert many.count_unsubscribed(known.snapshot()) == 2


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(GUIDS)), st.booleans()), max_size=6),
    st.tuples(st.lists(st.sampled_from(GUIDS), min_size=1), st.booleans()),
    st.sets(st.sampled_from(GUIDS)),
)
def test_taking_back_restores_all_but_what_was_changed_since(
    earlier: list[tuple[list[Guid], bool]],
    one: tuple[list[Guid], bool],
    later: set[Guid],
) -> None:
    known = account()
    for guids, is_subscribed in earlier:
        set_subscribed(known, guids, is_subscribed)
    before = subscribed(known)
    change = set_subscribed(known, *one)
    after = subscribed(known)
    if change is None:
        assert after == before
        return
    for touched in later:  # another device, twice: the status is as before, and the stamp is not
        for is_subscribed in (touched not in after, touched in after):
            set_subscribed(known, [touched], is_subscribed)
    undone = take_back(known, change)
    expected = {guid for guid in GUIDS if (guid in (after if guid in later else before))}
    assert subscribed(known) == expected
    if undone is not None:
        redone = take_back(known, undone)
        assert redone is not None
        assert subscribed(known) == after
