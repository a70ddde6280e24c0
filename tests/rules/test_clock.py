"""Contract, section 4: stamps of one account only rise."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Stamp
from feedkeep.rules.clock import (
    RESTORED_AHEAD_US,
    after_restore,
    is_before_its_time,
    next_stamp,
    shift,
)


def test_no_change_has_the_last_microsecond_of_a_second_where_settled_clocks_stand():
    assert next_stamp(last=5, now=7_999_999) == 8_000_000
    assert next_stamp(last=7_999_998, now=5) == 8_000_000


# C4.1
def test_the_next_stamp_is_the_wall_clock_where_that_is_ahead():
    assert next_stamp(last=5, now=100) == 100


# C4.1
def test_a_wall_clock_that_was_set_back_does_no_harm():
    assert next_stamp(last=100, now=5) == 101


# C4.1
@given(st.lists(st.integers(0, 100), min_size=2))
def test_stamps_rise_whatever_the_wall_clock_does(clock):
    stamps = [0]
    for now in clock:
        stamps.append(next_stamp(stamps[-1], now))
    assert all(earlier < later for earlier, later in pairwise(stamps))


@given(st.integers(0, 10**16), st.integers(0, 10**16), st.integers(0, RESTORED_AHEAD_US - 1))
def test_a_restored_clock_is_past_all_that_was_given_out_before(last, restored, ahead):
    given_out_since = [max(last, restored) + ahead, next_stamp(last, restored)]
    assert after_restore(last, restored) > max(given_out_since)


HOUR_US = RESTORED_AHEAD_US // 24
RESTORED = Stamp(20_000 * RESTORED_AHEAD_US)


@given(st.integers(-48, 48), st.integers(0, 48))
def test_a_moment_since_a_restore_is_unsure_until_the_wall_clock_has_come_as_far(hours, passed):
    last = shift(after_restore(Stamp(5), RESTORED), 3)
    moment, now = shift(RESTORED, hours * HOUR_US), shift(RESTORED, passed * HOUR_US)
    is_unsure = 0 < hours <= passed < 24
    assert is_before_its_time(moment, last, now) == is_unsure


def test_clocks_of_machines_that_differ_by_seconds_make_no_moment_unsure():
    assert not is_before_its_time(RESTORED, shift(RESTORED, 59_000_000), RESTORED)
