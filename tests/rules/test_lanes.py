"""The order of fetching feeds: fair to accounts, to new feeds, and to those that answer."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import AccountId, Failure, Feed, Guid, Stamp, replace
from feedkeep.rules import lanes
from feedkeep.rules.lanes import FIRST_DUE, Lane, Turns, lane_of, minutes_put_off, next_lane

ALICE, BEN = AccountId(1), AccountId(2)
NOW = Stamp(1_795_370_000_000_000)
ANSWERED = Feed(Guid("0" * 8), "https://show.example", NOW, NOW, looked=Stamp(NOW - 1))


@pytest.mark.parametrize(
    ("feed", "lane"),
    [
        (ANSWERED, Lane.QUICK),
        (replace(ANSWERED, is_slow=True), Lane.SLOW),
        (replace(ANSWERED, failure=Failure.TOO_SLOW), Lane.SLOW),
        (replace(ANSWERED, looked=None), Lane.SLOW),
        (replace(ANSWERED, next_look=Stamp(7)), Lane.NEW),
        (replace(ANSWERED, next_look=Stamp(7), failure=Failure.GONE), Lane.NEW),
    ],
)
def test_a_feed_waits_among_those_that_are_new_quick_or_slow(feed: Feed, lane: Lane) -> None:
    assert lane_of(feed) is lane


def test_the_lane_that_has_fewer_slots_gets_the_next_one() -> None:
    busy = {Lane.QUICK: 2, Lane.NEW: 1}
    assert next_lane([Lane.QUICK, Lane.NEW], busy, {}, 8) is Lane.NEW
    assert next_lane([Lane.QUICK], busy, {}, 8) is Lane.QUICK
    assert next_lane(list(Lane), busy, {}, 8) is Lane.SLOW
    assert next_lane([], busy, {}, 8) is None
    assert next_lane(list(Lane), busy, {}, 3) is None


def test_one_slot_alone_goes_round() -> None:
    served: dict[Lane, int] = {}
    order = []
    for number in range(6):
        lane = next_lane(list(Lane), {}, served, 1)
        assert lane is not None
        served[lane] = number + 1
        order.append(lane)
    assert Counter(order) == dict.fromkeys(Lane, 2)


@given(
    st.integers(2, 20),
    st.lists(st.tuples(st.sampled_from([Lane.NEW, Lane.SLOW]), st.booleans()), max_size=60),
)
def test_whatever_else_is_fetched_a_quick_feed_finds_a_slot(
    slots: int, others: list[tuple[Lane, bool]]
) -> None:
    busy: Counter[Lane] = Counter()
    for lane, ends in others:
        if next_lane([lane], busy, {}, slots) is lane:
            busy[lane] += 1
        if ends and busy[lane]:
            busy[lane] -= 1
    assert next_lane([Lane.NEW, Lane.QUICK, Lane.SLOW], busy, {}, slots) is not None
    assert next_lane([Lane.QUICK], busy, {}, slots) is Lane.QUICK


def added(turns: Turns, account_id: AccountId, count: int) -> list[tuple[Stamp, AccountId]]:
    return [(turns.next_of(account_id), account_id) for _ in range(count)]


def begin(turns: Turns, waiting: list[tuple[Stamp, AccountId]]) -> AccountId:
    """Fetch the feed whose turn it is; return whose it is."""
    waiting.sort()
    turn, account_id = waiting.pop(0)
    turns.begun(replace(ANSWERED, next_look=turn))
    return account_id


@given(st.integers(1, 500), st.integers(0, 400), st.integers(1, 30))
def test_who_adds_feeds_waits_for_one_of_each_other_account(
    many: int, fetched: int, few: int
) -> None:
    turns = Turns()
    waiting = added(turns, ALICE, many)
    for _ in range(min(fetched, many)):
        begin(turns, waiting)
    waiting += added(turns, BEN, few)
    so_far: Counter[AccountId] = Counter()
    while so_far[BEN] < few:
        so_far[begin(turns, waiting)] += 1
    assert so_far[ALICE] <= few


def test_accounts_begin_equally_once_no_feed_waits() -> None:
    turns = Turns()
    added(turns, ALICE, 500)
    turns.all_begun()  # another process has fetched them
    assert turns.next_of(BEN) == turns.next_of(ALICE)


@given(st.floats(0, 1))
def test_what_is_slow_is_put_off_for_longer_than_what_was_never_fetched(chance: float) -> None:
    failing = replace(ANSWERED, failure=Failure.TOO_SLOW)
    assert 10 <= minutes_put_off(failing, chance) <= 60
    for feed in (ANSWERED, replace(ANSWERED, looked=None), replace(failing, next_look=Stamp(7))):
        assert 1 <= minutes_put_off(feed, chance) <= 6


def test_what_is_due_is_no_turn() -> None:
    turns = Turns()
    turns.begun(ANSWERED)
    assert turns.next_of(ALICE) == 1


def test_turns_of_so_many_accounts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MAX_ACCOUNTS", 1)
    turns = Turns()
    assert [turns.next_of(one) for one in (ALICE, ALICE, BEN, BEN, ALICE)] == [1, 2, 1, 2, 1]
    turns.begun(replace(ANSWERED, next_look=Stamp(FIRST_DUE - 1)))
    assert turns.next_of(BEN) == FIRST_DUE - 1
