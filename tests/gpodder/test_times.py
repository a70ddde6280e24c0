import pytest

from feedkeep.model.errors import InvalidInput
from feedkeep.url_sync.messages import read_since, read_time, write_time

NOON = 1_767_268_800  # 2026-01-01T12:00:00Z


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-01T12:00:00",
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00:00.123Z",
        "2026-01-01 12:00:00.750",
        "2026-01-01T13:30:00+01:30",
        "2026-01-01T07:00:00-0500",
        "2026-01-01T12:00",
        "1767268800",
        NOON,
        NOON + 0.9,
        NOON * 1_000,
    ],
)
def test_a_time_is_read_however_an_app_writes_it(written):
    assert read_time(written) == NOON


UNREADABLE = (
    "", "yesterday", "2026-02-30T12:00:00", "2026-01-01", "-5", -5, True, None, [], 1e30, 10**400,
    -(10**400), 253_402_300_800_000, "9" * 16,
)  # fmt: skip


def test_what_is_no_time_is_none():
    assert [written for written in UNREADABLE if read_time(written) is not None] == []


def test_the_last_second_of_the_year_9999_is_the_last_time():
    assert read_time(253_402_300_799_999) == 253_402_300_799


def test_a_time_is_written_to_the_second_without_an_offset():
    assert write_time(NOON) == "2026-01-01T12:00:00"
    assert write_time(0) == "1970-01-01T00:00:00"
    assert write_time(253_402_300_799) == "9999-12-31T23:59:59"
    # `%4Y` is glibc's alone; read_time lets no year before 1970 in.
    assert write_time(-62_135_596_800) == "0001-01-01T00:00:00"


def test_since_is_a_number_of_seconds():
    for text, since in (("", 0), ("7", 7), ("7.9", 7), ("-7", 0), (" 8 ", 8), ("+9", 9)):
        assert read_since(text) == since
    for text in ("now", "1e9", "2026-01-01", "9" * 16, "0x1"):
        with pytest.raises(InvalidInput):
            read_since(text)
