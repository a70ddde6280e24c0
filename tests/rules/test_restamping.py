"""A clock that was far ahead goes back, and what it stamped keeps its order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Account, AccountId, Restamped, Second, Stamp, SyncProgress, replace
from feedkeep.rules.app_identity import CookielessApp
from feedkeep.rules.clock import DAY_US, next_stamp
from feedkeep.rules.clock_repair import FAR_AHEAD_US, is_far_ahead, restamped, to_resend
from feedkeep.rules.database_restores import first_action, may_follow_lost_changes
from feedkeep.rules.seconds import EVERYTHING, first_second, is_settled, second_of

NOW = Stamp(20_000 * DAY_US)
YEAR_US = 366 * DAY_US


def account(last: int, actions: int = 0) -> Account:
    return Account(AccountId(7), "alice", None, False, Stamp(0), Stamp(last), Stamp(actions))


def anew(known: Account, stamps: list[Stamp], known_from: int = 0) -> Restamped:
    return restamped(known, Stamp(known_from), stamps, stamps, NOW, 9)


@st.composite
def stamps_ahead(draw: st.DrawFn) -> list[Stamp]:
    """Stamps as a clock gives them that is ahead by little or by much."""
    stamps = [NOW]
    for us in draw(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=20)):
        stamps.append(next_stamp(stamps[-1], Stamp(stamps[-1] + us)))
    return stamps[1:]


@given(stamps_ahead(), st.integers(0, 20 * YEAR_US))
def test_new_stamps_rise_as_the_old_ones_did_and_none_is_later_than_its_old(stamps, ahead):
    clock = max(stamps) + FAR_AHEAD_US + 1 + ahead
    made = anew(account(clock, clock), stamps)
    assert sorted(made.stamps.values()) == [made.stamps[stamp] for stamp in sorted(stamps)]
    assert len(set(made.stamps.values())) == len(stamps)
    assert all(NOW < new <= old for old, new in made.stamps.items())
    assert not any(is_settled(new) for new in made.stamps.values())
    assert made.action_stamps == made.stamps
    last = max(made.stamps.values())
    assert (made.account.last_stamp, made.account.last_action_stamp) == (last, last)
    assert not is_far_ahead(made.account, NOW)


def test_a_clock_that_is_not_far_ahead_stays_and_the_other_one_goes_back():
    few_days, years = NOW + 3 * DAY_US, NOW + 10 * YEAR_US
    assert not is_far_ahead(account(few_days, few_days), NOW)
    assert is_far_ahead(account(0, years), NOW)
    made = anew(account(few_days, years), [Stamp(few_days)])
    assert (made.account, made.stamps) == (account(few_days, NOW + 1), {})
    made = anew(account(years, few_days), [Stamp(years)])
    assert (made.account.last_stamp, made.account.last_action_stamp) == (NOW + 1, few_days)
    assert (made.account.epoch, made.action_stamps) == (9, {})
    assert anew(account(years), []).account.last_stamp == NOW


def test_a_restore_while_the_clock_was_far_ahead_leaves_out_no_actions_once_it_is_right():
    years = Stamp(NOW + 10 * YEAR_US)
    restored_then = replace(
        account(NOW, years), actions_lost_after=Stamp(NOW - 1), actions_lost_until=years
    )
    made = anew(restored_then, [years])
    assert first_action(made.account, second_of(NOW), Stamp(7)) == 7


@pytest.mark.parametrize(
    ("known_from", "then"), [(5, 5), (NOW + 3, NOW), (NOW + 4, NOW + 1), (NOW + 7, NOW + 1)]
)
def test_a_list_is_known_from_where_it_was(known_from, then):
    stamps = [Stamp(NOW + 4), Stamp(NOW + 8)]
    assert anew(account(NOW + YEAR_US), stamps, known_from).known_from == then


@given(st.integers(FAR_AHEAD_US + 1, 2 * YEAR_US), st.booleans())
def test_a_stamp_that_was_ahead_means_everything_for_as_long_as_a_client_may_be_away(
    ahead, was_restored
):
    since = Stamp(NOW + ahead)
    known = account(since)
    if was_restored:
        known = replace(known, lost_after=Stamp(NOW - DAY_US), lost_until=since)
    found = anew(known, [since]).account
    later = replace(found, last_stamp=Stamp(since + DAY_US))
    assert may_follow_lost_changes(found, since)
    assert may_follow_lost_changes(later, since) == (ahead <= YEAR_US)
    assert may_follow_lost_changes(later, Stamp(NOW - 1)) == was_restored
    if ahead > YEAR_US:
        assert not may_follow_lost_changes(found, found.last_stamp)


def test_an_app_that_was_told_anything_is_told_everything_whatever_it_asks():
    told = SyncProgress(Second(2_000_000_000), Second(1_999_999_999))
    app = to_resend(CookielessApp("phone", False, told))
    assert app == CookielessApp("phone", False, SyncProgress(EVERYTHING))
    for since in (Second(1_700_000_000), Second(2_000_000_000)):
        assert first_second(since, Second(2_100_000_000), app.subscriptions) == EVERYTHING
