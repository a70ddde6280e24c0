"""Moments as people write them on a command line."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.formats.moments import read_moment
from feedkeep.model import Stamp
from feedkeep.model.errors import InvalidInput
from feedkeep.model.stamps import read_stamp, write_stamp

NOW = read_stamp("2026-11-22T12:00:00Z")


def in_berlin(moment: datetime) -> datetime:
    return moment.replace(tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-20T18:00:00Z", "2026-11-20T18:00:00Z"),
        ("2026-11-20t18:00:00.5+02:00", "2026-11-20T16:00:00.5Z"),
        ("2026-11-20 18:00:00Z", "2026-11-20T18:00:00Z"),
        ("2026-11-20", "2026-11-19T23:00:00Z"),
        (" 2026-11-20 18:00 ", "2026-11-20T17:00:00Z"),
        ("2026-07-20 18:00", "2026-07-20T16:00:00Z"),
        ("2026-11-20 18:00:30", "2026-11-20T17:00:30Z"),
        ("90 minutes ago", "2026-11-22T10:30:00Z"),
        ("1 hour ago", "2026-11-22T11:00:00Z"),
        ("2 Days ago", "2026-11-20T12:00:00Z"),
        ("3  weeks  ago", "2026-11-01T12:00:00Z"),
        ("999999999 weeks ago", "1970-01-01T00:00:00Z"),
        ("0001-01-01", "1970-01-01T00:00:00Z"),
        ("0000-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
    ],
)
def test_a_moment_is_read_as_a_person_writes_it(text, moment):
    assert read_moment(text, NOW, in_berlin) == read_stamp(moment)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2 days", "-2 days ago", "two days ago", "2 months ago", "2026-13-01",
     "2026-02-30", "20.11.2026", "2026-11-20 25:00", "18:00", "2026-11-20T18:00",
     "\u0662 days ago"],
)  # fmt: skip
def test_anything_else_is_refused_with_examples_of_what_is_taken(text):
    with pytest.raises(InvalidInput, match="2 days ago"):
        read_moment(text, NOW, in_berlin)


def test_a_day_that_no_time_zone_reaches_is_refused():
    def too_early(_moment):
        raise OverflowError

    with pytest.raises(InvalidInput):
        read_moment("0001-01-01", NOW, too_early)


@given(st.integers(0, 253_402_300_799_999_999))
def test_a_stamp_that_is_shown_is_read_back(stamp):
    assert read_moment(write_stamp(Stamp(stamp)), NOW, in_berlin) == stamp
