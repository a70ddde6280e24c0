"""Rotation of backups, which keeps those of the newest days and weeks, and at least one."""

from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Stamp
from feedkeep.model.stamps import read_stamp
from feedkeep.rules.clock import DAY_US
from feedkeep.service.backup_rotation import day_number, superseded, week_of

HOUR_US = DAY_US // 24
moments = st.integers(0, 100 * DAY_US).map(Stamp)
counts = st.integers(1, 9)


def at(text):
    return read_stamp(f"{text}:00Z")


def kept(made, keep_daily, keep_weekly):
    return made - superseded(made, max(made), keep_daily, keep_weekly)


@given(st.sets(moments, min_size=1), counts, st.integers(0, 9))
def test_the_last_backup_of_newest_days_and_weeks_stays(made, keep_daily, keep_weekly):
    newest_days = sorted({day_number(stamp) for stamp in made})[-keep_daily:]
    newest_weeks = sorted({week_of(stamp) for stamp in made})[-keep_weekly:] if keep_weekly else []
    wanted = {max(one for one in made if day_number(one) == day) for day in newest_days}
    wanted |= {max(one for one in made if week_of(one) == week) for week in newest_weeks}
    assert kept(made, keep_daily, keep_weekly) == wanted


@given(st.sets(moments), moments, counts, st.integers(0, 9))
def test_the_newest_backup_stays_whatever_the_clock_said(others, newest, keep_daily, keep_weekly):
    made = others | {newest}
    gone = superseded(made, newest, keep_daily, keep_weekly)
    assert newest not in gone
    assert gone < made  # something is left, and nothing goes that was not there


@given(
    st.lists(st.integers(1, 60 * 24), min_size=1, max_size=90),
    st.integers(1, 10),
    st.integers(1, 6),
)
def test_rotation_step_by_step_keeps_the_same_as_at_once(pauses, keep_daily, keep_weekly):
    now, ever, there = Stamp(0), set[Stamp](), set[Stamp]()
    for pause in pauses:
        now = Stamp(now + pause * HOUR_US // 10)
        ever.add(now)
        there.add(now)
        there -= superseded(there, now, keep_daily, keep_weekly)
        assert there == kept(ever, keep_daily, keep_weekly)


def test_a_week_begins_on_monday():
    sunday, monday = at("2026-11-22T23:59"), at("2026-11-23T00:00")
    assert week_of(monday) == week_of(sunday) + 1
