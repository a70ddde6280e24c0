"""How many bytes accounts may have fetched by adding feeds."""

import pytest

from feedkeep.model import AccountId, Failure, Feed, FetchResult, Guid, Stamp, replace
from feedkeep.rules import fetch_order
from feedkeep.rules.clock import DAY_US, SECOND_US
from feedkeep.rules.fetch_order import DAILY_BYTES, FairTurns, FetchBudgets, FetchLimits

ALICE, BEN = AccountId(1), AccountId(2)
NOW = Stamp(20_000 * DAY_US)


def added(account_id: AccountId, name: str = "a") -> Feed:
    turn = FairTurns().next_of(account_id)
    return Feed(Guid(name * 8), f"https://{name}.example", NOW, turn)


@pytest.fixture
def budgets():
    return FetchBudgets()


def test_account_that_spent_its_bytes_waits_until_the_next_day(budgets):
    budgets.charge(added(ALICE), DAILY_BYTES - 1, NOW)
    assert budgets.rest_us(added(ALICE), NOW) == 0
    budgets.charge(added(ALICE), 1, NOW)
    assert budgets.rest_us(added(ALICE), NOW) == DAY_US
    assert budgets.rest_us(added(BEN), NOW) == 0
    assert budgets.rest_us(added(ALICE), Stamp(NOW + DAY_US)) == 0


def test_feeds_that_are_due_are_charged_to_nobody(budgets):
    due = replace(added(ALICE), next_fetch=NOW)
    budgets.charge(due, DAILY_BYTES, NOW)
    assert budgets.rest_us(added(ALICE), NOW) == 0
    budgets.charge(added(ALICE), DAILY_BYTES, NOW)
    assert budgets.rest_us(due, NOW) == 0


def test_postponed_feed_is_charged_to_its_account_once(budgets):
    budgets.postpone(added(ALICE))
    due = replace(added(ALICE), next_fetch=NOW)
    budgets.charge(due, DAILY_BYTES, NOW)
    assert budgets.rest_us(added(ALICE, "b"), NOW) == DAY_US
    assert budgets.rest_us(due, NOW) == 0


@pytest.mark.parametrize("looks_first", [ALICE, BEN])
def test_look_at_a_postponed_feed_leaves_its_fetch_to_its_account(budgets, looks_first):
    budgets.postpone(added(ALICE))
    budgets.charge(added(looks_first), 1, NOW)
    budgets.charge(replace(added(ALICE), next_fetch=NOW), DAILY_BYTES, NOW)
    assert budgets.rest_us(added(ALICE, "b"), NOW) == DAY_US


def test_the_last_accounts_that_spent_bytes_are_remembered(budgets, monkeypatch):
    monkeypatch.setattr(fetch_order, "MAX_ACCOUNTS", 1)
    for account_id in (ALICE, BEN):
        budgets.charge(added(account_id), DAILY_BYTES, NOW)
    assert [budgets.rest_us(added(one), NOW) for one in (ALICE, BEN)] == [0, DAY_US]


def test_fetch_limits_are_those_of_the_account_and_of_the_host():
    limits = FetchLimits()
    asks_for_a_pause = FetchResult(failure=Failure.ERROR_STATUS, retry_after_seconds=60)
    limits.fetched(added(ALICE), asks_for_a_pause, NOW)
    assert limits.rest_us(added(BEN), NOW) == 60 * SECOND_US
    assert limits.rest_us(added(BEN, "b"), NOW) == 0
    limits.fetched(added(BEN, "b"), FetchResult(retry_after_seconds=60), NOW)
    limits.fetched(added(BEN, "b"), FetchResult(received_bytes=DAILY_BYTES), NOW)
    assert limits.rest_us(added(BEN), NOW) == DAY_US
    assert limits.rest_us(added(ALICE, "b"), NOW) == 0
