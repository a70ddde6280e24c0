"""The order of fetching feeds: fair to accounts, to new feeds, and to those that answer.

And how many bytes accounts may have fetched by adding feeds.
"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import AccountId, Failure, Feed, FetchResult, Guid, Stamp, replace
from feedkeep.rules import fetch_order as rules
from feedkeep.rules.clock import DAY_US, SECOND_US
from feedkeep.rules.fetch_order import FIRST_DUE, PAYERS, FairTurns, HostQueues, Lane, next_lane

OTHERS = [Lane.NEW, Lane.PUT_OFF, Lane.SLOW]
ALICE, BEN = AccountId(1), AccountId(2)
NOW = Stamp(20_000 * DAY_US)
ANSWERED = Feed(Guid("0" * 8), "https://show.example", NOW, NOW, looked=Stamp(NOW - 1))


@pytest.mark.parametrize(
    ("feed", "lane"),
    [
        (ANSWERED, Lane.QUICK),
        (replace(ANSWERED, is_slow=True), Lane.SLOW),
        (replace(ANSWERED, failure=Failure.TOO_SLOW), Lane.SLOW),
        (replace(ANSWERED, looked=None), Lane.PUT_OFF),
        (replace(ANSWERED, next_fetch=Stamp(7)), Lane.NEW),
        (replace(ANSWERED, next_fetch=Stamp(7), failure=Failure.GONE), Lane.NEW),
    ],
)
def test_feed_waits_among_those_that_are_new_quick_or_slow(feed, lane):
    assert rules.lane_of(feed) is lane


def test_lane_that_has_fewer_slots_gets_the_next_one():
    busy = {Lane.QUICK: 2, Lane.NEW: 1}
    assert next_lane([Lane.QUICK, Lane.NEW], busy, {}, 8) is Lane.NEW
    assert next_lane([Lane.QUICK], busy, {}, 8) is Lane.QUICK
    assert next_lane([Lane.QUICK, Lane.NEW, Lane.SLOW], busy, {}, 8) is Lane.SLOW
    assert next_lane([], busy, {}, 8) is None
    assert next_lane(list(Lane), busy, {}, 3) is None


def test_one_slot_alone_goes_round():
    served, order = {}, []
    for number in range(2 * len(Lane)):
        order.append(next_lane(list(Lane), {}, served, 1))
        served[order[-1]] = number + 1
    assert Counter(order) == dict.fromkeys(Lane, 2)


LANES = st.lists(st.tuples(st.sampled_from(OTHERS), st.booleans()), max_size=60)


@given(st.integers(2, 20), LANES)
def test_whatever_else_is_fetched_a_quick_feed_finds_a_slot(slots, others):
    busy: Counter[Lane] = Counter()
    for lane, ends in others:
        if next_lane([lane], busy, {}, slots) is lane:
            busy[lane] += 1
        if ends and busy[lane]:
            busy[lane] -= 1
    assert next_lane(list(Lane), busy, {}, slots) is not None
    assert next_lane([Lane.QUICK], busy, {}, slots) is Lane.QUICK


def turn_of(turns: FairTurns, account_id: AccountId) -> int:
    return turns.next_of(account_id) // PAYERS


def added(turns: FairTurns, account_id: AccountId, count: int) -> list[tuple[Stamp, AccountId]]:
    return [(turns.next_of(account_id), account_id) for _ in range(count)]


def begin(turns: FairTurns, waiting: list[tuple[Stamp, AccountId]]) -> AccountId:
    """Fetch the feed whose turn it is; return whose it is."""
    waiting.sort()
    turn, account_id = waiting.pop(0)
    turns.begun(replace(ANSWERED, next_fetch=turn))
    return account_id


@given(st.integers(1, 500), st.integers(0, 400), st.integers(1, 30))
def test_who_adds_feeds_waits_for_one_of_each_other_account(many, fetched, few):
    turns = FairTurns()
    waiting = added(turns, ALICE, many)
    for _ in range(min(fetched, many)):
        begin(turns, waiting)
    waiting += added(turns, BEN, few)
    so_far: Counter[AccountId] = Counter()
    while so_far[BEN] < few:
        so_far[begin(turns, waiting)] += 1
    assert so_far[ALICE] <= few


def test_accounts_begin_equally_once_no_feed_waits():
    turns = FairTurns()
    added(turns, ALICE, 500)
    turns.all_begun()  # another process has fetched them
    assert turn_of(turns, BEN) == turn_of(turns, ALICE)


@given(st.floats(0, 1))
def test_what_is_slow_is_put_off_for_longer_than_what_was_quick(chance):
    failing = replace(ANSWERED, failure=Failure.TOO_SLOW)
    assert 10 <= rules.minutes_put_off(failing, chance) <= 60
    assert 1 <= rules.minutes_put_off(ANSWERED, chance) <= 6
    assert [rules.minutes_put_off(failing, end) for end in (0, 1)] == [10, 60]


def test_process_that_fetches_nothing_gives_turns_after_those_that_were_fetched():
    turns = FairTurns()
    turns.begun(ANSWERED)  # it was due, and had no turn
    assert [turn_of(turns, ALICE) for _ in range(3)] == [1, 2, 3]
    turns.waiting_from(Stamp(3 * PAYERS))
    assert [turn_of(turns, BEN), turn_of(turns, ALICE)] == [3, 4]
    for first in (None, FIRST_DUE):  # nothing waits that was just added
        turns.waiting_from(first)
        assert [turn_of(turns, BEN), turn_of(turns, ALICE)] == [3, 3]


def test_turns_of_so_many_accounts_are_remembered(monkeypatch):
    monkeypatch.setattr(rules, "MAX_ACCOUNTS", 1)
    turns = FairTurns()
    assert [turn_of(turns, one) for one in (ALICE, ALICE, BEN, BEN, ALICE)] == [1, 2, 1, 2, 1]
    turns.begun(replace(ANSWERED, next_fetch=Stamp(FIRST_DUE - 1)))
    assert turn_of(turns, BEN) == FIRST_DUE // PAYERS - 1


HOST = "one.example"


def new(turn: int) -> Feed:
    return replace(ANSWERED, looked=None, next_fetch=Stamp(turn))


@given(st.integers(1, 500), st.integers(0, 2 * rules.MAX_FETCH_US))
def test_feeds_of_a_host_that_are_put_off_come_as_fast_as_it_answers(count, us):
    queues, each_us = HostQueues(), min(us, rules.MAX_FETCH_US)
    queues.fetched(HOST, us)
    dues = [queues.due(HOST, new(turn), NOW, turn) for turn in range(1, count + 1)]
    assert dues == [NOW + each_us * number for number in range(1, count + 1)]
    assert queues.due("other.example", new(count), NOW, count) == NOW + rules.USUAL_FETCH_US


@given(st.integers(0, 1_000), st.integers(1, 100), st.integers(1, 100))
def test_feed_waits_as_long_as_there_are_turns_before_it_however_many(others, ahead, later_us):
    queues = HostQueues()
    for turn in range(1, others + 1):
        queues.due(HOST, new(turn), NOW, turn)
    now = Stamp(NOW + later_us)
    assert queues.due(HOST, new(others + ahead), now, ahead) <= now + ahead * rules.USUAL_FETCH_US
    # It displaced no feed: the next one of an account that has added many comes at the end.
    end = queues.due(HOST, new(others + 1_000), now, 2_000)
    assert end >= NOW + (others + 1) * rules.USUAL_FETCH_US


def test_feed_that_was_put_off_goes_before_those_that_had_more_turns_before_them():
    queues, few, many = HostQueues(), new(10_002), replace(new(9), guid=Guid("1" * 8))
    assert queues.rank(few) == 10_002
    queues.due(HOST, many, NOW, 9)
    queues.due(HOST, few, NOW, 2)
    put_off = [replace(feed, next_fetch=NOW) for feed in (few, many, replace(few, guid=Guid("2")))]
    assert [queues.rank(feed) for feed in put_off] == [2, 9, FIRST_DUE]
    assert queues.rank(ANSWERED) == NOW


@given(st.integers(0, 10**9))
def test_feed_that_is_put_off_again_waits_half_as_long_as_so_far(waited_us):
    queues, now = HostQueues(), Stamp(NOW + waited_us)
    again = replace(ANSWERED, looked=None, wanted=NOW, next_fetch=now)
    due = queues.due(HOST, again, now, 1)
    assert due - now == max(rules.USUAL_FETCH_US, min(waited_us // 2, rules.MAX_WAIT_US))


def test_of_so_many_hosts_it_is_remembered_how_long_feeds_are_put_off(monkeypatch):
    monkeypatch.setattr(rules, "MAX_HOSTS", 1)
    queues = HostQueues()
    first = [queues.due(HOST, new(9), NOW, 9) for _ in range(2)]
    assert queues.due("other.example", new(9), NOW, 9) == first[0] < first[1]
    assert queues.due(HOST, new(9), NOW, 9) == first[0]


def test_turns_are_counted_from_the_one_that_is_served():
    turns = FairTurns()
    turns.begun(replace(ANSWERED, next_fetch=Stamp(5 * PAYERS)))
    assert [turns.ahead_of(new(turn * PAYERS)) for turn in (3, 5, 6, 9)] == [1, 1, 1, 4]


def test_payer_is_told_by_the_turn_alone():
    turns, account_id = FairTurns(), AccountId(12_345_678_901)
    assert rules.payer_of(replace(ANSWERED, next_fetch=turns.next_of(account_id))) == 678_901
    for no_turn in (Stamp(0), FIRST_DUE, NOW):
        assert rules.payer_of(replace(ANSWERED, next_fetch=no_turn)) is None


def new_of(account_id: AccountId, name: str = "a") -> Feed:
    turn = FairTurns().next_of(account_id)
    return Feed(Guid(name * 8), f"https://{name}.example", NOW, turn)


@pytest.fixture
def budgets():
    return rules.FetchBudgets()


def test_account_that_spent_its_bytes_waits_until_the_next_day(budgets):
    budgets.charge(new_of(ALICE), rules.DAILY_BYTES - 1, NOW)
    assert budgets.rest_us(new_of(ALICE), NOW) == 0
    budgets.charge(new_of(ALICE), 1, NOW)
    assert budgets.rest_us(new_of(ALICE), NOW) == DAY_US
    assert budgets.rest_us(new_of(BEN), NOW) == 0
    assert budgets.rest_us(new_of(ALICE), Stamp(NOW + DAY_US)) == 0


def test_feeds_that_are_due_are_charged_to_nobody(budgets):
    due = replace(new_of(ALICE), next_fetch=NOW)
    budgets.charge(due, rules.DAILY_BYTES, NOW)
    assert budgets.rest_us(new_of(ALICE), NOW) == 0
    budgets.charge(new_of(ALICE), rules.DAILY_BYTES, NOW)
    assert budgets.rest_us(due, NOW) == 0


@pytest.mark.parametrize("looks_first", [[], [ALICE], [BEN]])
def test_postponed_feed_is_charged_to_its_account_once(budgets, looks_first):
    budgets.postpone(new_of(ALICE))
    for account_id in looks_first:
        budgets.charge(new_of(account_id), 1, NOW)
    due = replace(new_of(ALICE), next_fetch=NOW)
    budgets.charge(due, rules.DAILY_BYTES, NOW)
    assert budgets.rest_us(new_of(ALICE, "b"), NOW) == DAY_US
    assert budgets.rest_us(due, NOW) == 0


def test_last_accounts_that_spent_bytes_are_remembered(budgets, monkeypatch):
    monkeypatch.setattr(rules, "MAX_ACCOUNTS", 1)
    for account_id in (ALICE, BEN):
        budgets.charge(new_of(account_id), rules.DAILY_BYTES, NOW)
    assert [budgets.rest_us(new_of(one), NOW) for one in (ALICE, BEN)] == [0, DAY_US]


def test_fetch_limits_are_those_of_the_account_and_of_the_host():
    limits = rules.FetchLimits()
    asks_for_a_pause = FetchResult(failure=Failure.ERROR_STATUS, retry_after_seconds=60)
    limits.fetched(new_of(ALICE), asks_for_a_pause, NOW)
    assert limits.rest_us(new_of(BEN), NOW) == 60 * SECOND_US
    assert limits.rest_us(new_of(BEN, "b"), NOW) == 0
    limits.fetched(new_of(BEN, "b"), FetchResult(retry_after_seconds=60), NOW)
    limits.fetched(new_of(BEN, "b"), FetchResult(received_bytes=rules.DAILY_BYTES), NOW)
    assert limits.rest_us(new_of(BEN), NOW) == DAY_US
    assert limits.rest_us(new_of(ALICE, "b"), NOW) == 0
