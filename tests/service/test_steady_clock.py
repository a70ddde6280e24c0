"""When the wall clock is believed again after it jumped."""

from feedkeep.model import Stamp
from feedkeep.rules.clock import DAY_US, SECOND_US
from feedkeep.service.forgetting import AFTER_JUMP_SECONDS, AFTER_START_SECONDS, SteadyClock


def test_a_clock_that_jumped_ahead_is_believed_after_a_day_or_once_it_is_back():
    wall, counted = 0, 0.0
    clock = SteadyClock(lambda: Stamp(wall), lambda: counted)

    def believed_after(seconds, drift_us=0):
        nonlocal wall, counted
        counted += seconds
        wall += int(seconds * SECOND_US) + drift_us
        return clock.is_believed()

    assert believed_after(AFTER_START_SECONDS, DAY_US)
    assert not believed_after(1, DAY_US + 1)
    assert not believed_after(1, -DAY_US)
    assert believed_after(1, -DAY_US - 1)
    assert not believed_after(1, DAY_US + 1)
    assert not believed_after(AFTER_JUMP_SECONDS - 1)
    assert believed_after(1)
