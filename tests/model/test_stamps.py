"""Stamps as text and back (contract, section 4)."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model.stamps import read_stamp, write_stamp
from feedkeep.openpodcast.paging import END


# C4.2
def test_a_stamp_is_written_in_utc_with_six_decimals_and_z():
    assert write_stamp(0) == "1970-01-01T00:00:00.000000Z"
    assert write_stamp(1_795_244_400_000_001) == "2026-11-21T07:00:00.000001Z"
    assert write_stamp(END) == "9999-12-31T23:59:59.999999Z"


@given(st.integers(0, END))
def test_what_was_written_is_read_back(stamp):
    assert read_stamp(write_stamp(stamp)) == stamp


@given(
    st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),  # noqa: DTZ001 - the offset comes apart
    st.integers(-1_439, 1_439),
)
def test_any_moment_with_any_offset_is_what_the_calendar_says(moment, offset_minutes):
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    since_epoch = aware - datetime(1970, 1, 1, tzinfo=UTC)
    for text in (aware.isoformat(), aware.strftime("%Y-%m-%dT%H:%M:%S.%f%z").zfill(31)):
        assert read_stamp(text) == since_epoch // timedelta(microseconds=1)


def test_seconds_may_be_left_out_as_java_does_if_they_are_0():
    for text in ("2026-01-31T12:00Z", "2026-01-31T14:00+02:00"):
        assert write_stamp(read_stamp(text)) == "2026-01-31T12:00:00.000000Z"


def test_the_year_0_is_a_leap_year_before_the_year_1():
    day = 86_400 * 1_000_000
    first = read_stamp("0001-01-01T00:00:00Z")
    assert read_stamp("0000-12-31T00:00:00Z") == first - day
    assert read_stamp("0000-02-29T00:00:00Z") == first - 307 * day
