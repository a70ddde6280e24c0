"""Wait of an attempt at a password, whichever processes counted others."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.security.throttle import KEPT_SECONDS, WINDOW_SECONDS, wait_seconds, with_attempt

NOW = 10_000.0
LIMIT = 3
EXCHANGED_EACH = 5
"""Seconds between exchanges; a step of the simulations is such a time or more."""

moments = st.lists(
    st.floats(NOW - 2 * WINDOW_SECONDS, NOW, allow_nan=False).map(lambda at: round(at, 3)),
    max_size=12,
)
counts = st.lists(moments, max_size=4)


def in_one_window(counted, limit):
    """Return the wait for a limit in the last window, for whatever all have counted together."""
    times = sorted(at for some in counted for at in some)
    return max(0.0, times[-limit] + WINDOW_SECONDS - NOW) if len(times) >= limit else 0.0


# C2.19
def test_up_to_the_limit_no_attempt_waits_and_then_until_the_first_one_is_over():
    assert wait_seconds([], 2, NOW) == 0
    assert wait_seconds([[NOW - 10]], 2, NOW) == 0
    assert wait_seconds([[NOW - 10], [NOW - 4]], 2, NOW) == WINDOW_SECONDS - 10
    assert wait_seconds([[NOW - WINDOW_SECONDS], [NOW - 4]], 2, NOW) == 0
    # Attempts beyond the limit are waited for, up to an hour.
    four_times_too_many = [[NOW] * 10 for _ in range(4)]
    assert wait_seconds(four_times_too_many, 10, NOW) == 4 * WINDOW_SECONDS
    assert wait_seconds(four_times_too_many, 10, NOW + 4 * WINDOW_SECONDS - 1) == 1
    assert wait_seconds(four_times_too_many, 10, NOW + 4 * WINDOW_SECONDS) == 0
    far_too_many = [[NOW] * 1_000]
    assert wait_seconds(far_too_many, 10, NOW + KEPT_SECONDS - 1) == 1
    assert wait_seconds(far_too_many, 10, NOW + KEPT_SECONDS) == 0


@given(counts, moments, st.randoms())
def test_who_knows_more_waits_no_less_whichever_process_counted_it(counted, more, random):
    wait = wait_seconds(counted, LIMIT, NOW)
    assert in_one_window(counted, LIMIT) <= wait <= wait_seconds([*counted, more], LIMIT, NOW)
    everything = [at for some in counted for at in some]
    random.shuffle(everything)
    assert wait == wait_seconds([everything], LIMIT, NOW)


class Crowd:
    """Processes that let an attacker through by the rule, and tell each other now and then."""

    def __init__(self, count):
        self.own: list[Sequence[float]] = [[] for _ in range(count)]
        self.known: list[list[Sequence[float]]] = [[] for _ in range(count)]

    def exchange(self):
        for number in range(len(self.own)):
            self.known[number] = [own for i, own in enumerate(self.own) if i != number]

    def tries(self, process, now):
        own, others = self.own[process], self.known[process]
        is_let = wait_seconds([own, *others], LIMIT, now) == 0
        if is_let:
            self.own[process] = with_attempt(own, others, LIMIT, now)
        return is_let

    def let_up_to(self, count, now):
        """Try until so many were let through, or no process lets any through; return the number."""
        processes = [process for process in range(len(self.own)) for _ in range(LIMIT)]
        return sum(self.tries(process, now) for process in processes[:count])


steps = st.lists(
    st.tuples(
        st.sampled_from([1, EXCHANGED_EACH, 60, 299, 300, 301]),
        st.lists(st.integers(0, 3), max_size=16),
    ),
    max_size=12,
)


@given(steps)
def test_one_process_keeps_the_limit_and_four_exceed_it_once_by_what_they_did_not_know(steps):
    alone, crowd = Crowd(1), Crowd(4)
    times, let, now, exchanged = [], 0, 0.0, 0.0
    for seconds, tried in steps:
        now += seconds
        times += [now for _ in tried if alone.tries(0, now)]
        if now - exchanged >= EXCHANGED_EACH:
            crowd.exchange()
            exchanged = now
        let += sum(crowd.tries(process, now) for process in tried)
        assert let <= LIMIT * (now // WINDOW_SECONDS + 1) + 3 * LIMIT
    for first, last in zip(times, times[LIMIT:], strict=False):
        assert last - first >= WINDOW_SECONDS


@pytest.mark.parametrize("fewer", [0, 1, 2])
def test_an_attacker_who_returns_as_soon_as_possible_gets_no_more_than_from_one(fewer):
    """An attacker who omits the last one or two attempts is let through again sooner."""
    crowd, let, now = Crowd(2), 0, 0.0
    while now < 24 * 3_600:
        crowd.exchange()
        let += crowd.let_up_to(2 * LIMIT - fewer, now)
        now += 10
    assert let <= LIMIT * (now // WINDOW_SECONDS + 1) + LIMIT


def test_counted_attempts_are_the_last_ones_dated_to_when_they_would_have_been_allowed():
    others = [[0.0, 0.0, 0.0]]
    assert with_attempt([0.0], others, 3, 10.0) == [WINDOW_SECONDS, WINDOW_SECONDS]
    assert with_attempt([1.0, 2.0, 3.0], [], 3, NOW) == [NOW]
    assert with_attempt([1.0, 2.0, 3.0], [], 3, 400.0) == [2.0, 3.0, 400.0]
