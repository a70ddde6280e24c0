from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Told
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.seconds import (
    EVERYTHING,
    after_reply,
    after_upload,
    first_second,
    first_stamp,
    is_settled,
    second_of,
    settled,
)

STAMPS = st.integers(0, 10**16)


@given(last=STAMPS, now=STAMPS)
def test_what_was_read_is_before_the_second_told_and_what_comes_later_after_it(
    last: int, now: int
) -> None:
    clock = settled(last)
    told = second_of(clock)
    assert last <= clock
    assert is_settled(last) or second_of(last) < told
    assert second_of(next_stamp(clock, now)) >= told + 1


@given(last=STAMPS)
def test_a_settled_clock_stays_where_it_is_and_is_never_far_ahead(last: int) -> None:
    clock = settled(last)
    assert is_settled(clock)
    assert settled(clock) == clock
    assert clock - last < 2_000_000


def test_the_first_stamp_of_a_second_is_in_it() -> None:
    assert first_stamp(7) == 7_000_000
    assert second_of(first_stamp(7)) == 7
    assert second_of(first_stamp(7) - 1) == 6


def test_an_app_of_which_nothing_is_known_is_believed_unless_it_was_never_told_that() -> None:
    assert [first_second(since, 10, Told()) for since in (0, 5, 10, 11)] == [0, 5, 10, 11]
    assert first_second(12, 10, Told()) == EVERYTHING


def test_an_app_that_asks_with_what_it_was_told_has_heard_it() -> None:
    app = Told(told=10, heard=3)
    assert [first_second(since, 20, app) for since in (10, 11)] == [10, 11]
    assert after_reply(10, 20, app) == after_reply(11, 20, app) == Told(20, 10)


def test_an_app_that_asks_with_anything_later_is_told_what_came_after_it_heard() -> None:
    assert [first_second(since, 20, Told(10, 3)) for since in (2, 3, 4, 12, 99)] == [2, 3, 4, 4, 4]
    assert first_second(99, 20, Told(10)) == EVERYTHING
    assert after_reply(99, 20, Told(10, 3)) == Told(20, 3)


def test_an_upload_shows_that_the_last_reply_came() -> None:
    assert after_upload(Told(10, 3)) == Told(10, 10)


def test_a_reply_without_news_leaves_nothing_to_remember() -> None:
    assert after_reply(10, 10, Told(10, 3)) == Told(10, 3)
