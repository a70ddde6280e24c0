"""What is a fault of a machine, what is worth a note, and what is neither."""

import pytest

from feedkeep.cli import diagnosis
from feedkeep.cli.diagnosis import Entrance, Verdict
from feedkeep.model import Stamp
from feedkeep.rules.clock import DAY_US, SECOND_US

NOW = Stamp(1_795_000_000 * SECOND_US)
YEAR_US = 365 * DAY_US
OK, NOTE, FAULT = Verdict


@pytest.mark.parametrize(
    ("free_bytes", "verdict"), [(0, FAULT), (499_999_999, FAULT), (500_000_000, OK)]
)
def test_a_disk_that_is_nearly_full_is_a_fault(free_bytes, verdict):
    assert diagnosis.disk(free_bytes).verdict is verdict


@pytest.mark.parametrize(
    ("age_us", "verdict"),
    [(None, NOTE), (0, OK), (2 * DAY_US - 1, OK), (2 * DAY_US, NOTE), (-DAY_US, OK)],
)
def test_a_backup_of_two_days_ago_is_worth_a_note(age_us, verdict):
    last = None if age_us is None else Stamp(NOW - age_us)
    assert diagnosis.backup(last, NOW).verdict is verdict


def test_a_right_that_is_missing_is_a_fault_that_names_the_tables():
    assert diagnosis.rights([]).verdict is OK
    found = diagnosis.rights(["token", "entry"])
    assert found.verdict is FAULT
    assert "entry, token" in found.text


@pytest.mark.parametrize(
    ("now", "of_database", "newest", "is_set", "verdict"),
    [
        (NOW, None, 0, True, OK),
        (NOW, None, NOW, None, OK),
        (NOW, None, 0, False, NOTE),
        (NOW, NOW + 5 * SECOND_US, 0, True, OK),
        (NOW, NOW + 5 * SECOND_US + 1, 0, True, FAULT),
        (NOW, NOW - 6 * SECOND_US, 0, False, FAULT),
        (0, 0, 0, True, FAULT),
        (NOW - 10 * YEAR_US, None, 0, True, FAULT),
        (NOW + 10 * YEAR_US, None, NOW + 10 * YEAR_US, True, FAULT),
        (NOW + 10 * YEAR_US, NOW + 10 * YEAR_US, NOW, True, FAULT),
        (NOW, None, NOW + 30 * DAY_US, True, OK),
        (NOW, None, NOW + 30 * DAY_US + 1, True, FAULT),
    ],
)
def test_clock_that_contradicts_database_or_release_is_a_fault(
    now, of_database, newest, is_set, verdict
):
    there = None if of_database is None else Stamp(of_database)
    assert diagnosis.clock(Stamp(now), there, Stamp(newest), is_set).verdict is verdict


def test_connections_beyond_the_limit_of_the_server_are_a_fault():
    assert diagnosis.connections(workers=4, of_each=25, limit=100).verdict is OK
    found = diagnosis.connections(workers=4, of_each=25, limit=99)
    assert found.verdict is FAULT
    assert "99" in found.text
    assert "100" in found.text


@pytest.mark.parametrize(("days", "verdict"), [(13, NOTE), (14, OK), (90, OK)])
def test_a_certificate_is_told_two_weeks_before_its_end(days, verdict):
    assert diagnosis.certificate(Stamp(NOW + days * DAY_US), NOW).verdict is verdict


@pytest.mark.parametrize(
    ("scheme", "is_local", "has_certificate", "proxies", "found"),
    [
        ("", True, False, (), []),
        ("https", True, False, ("127.0.0.1",), []),
        ("https", False, True, (), []),
        ("https", True, False, (), [("proxies", FAULT)]),
        ("", True, False, ("127.0.0.1",), [("proxies", NOTE)]),
        ("", False, False, (), [("tls", NOTE)]),
        ("http", False, False, (), [("tls", NOTE)]),
        ("http", True, False, (), []),
        ("https", False, False, ("0.0.0.0/0", "::/0"), [("proxies", FAULT)]),
        ("https", False, False, ("0.0.0.0/1", "128.0.0.0/1"), [("proxies", FAULT)]),
        ("https", False, False, ("::1", "::/1", "8000::/1"), [("proxies", FAULT)]),
        ("https", False, False, ("::ffff:0.0.0.0/96",), [("proxies", FAULT)]),
        ("https", False, False, ("10.0.0.0/8", "172.16.0.0/12", "fc00::/7", "fe80::/10"), []),
        ("https", False, False, ("64.0.0.0/2", "64.0.0.0/3", "96.0.0.0/3"), []),
    ],
)
def test_proxies_and_tls_have_to_fit_the_address_of_clients(
    scheme, is_local, has_certificate, proxies, found
):
    told = diagnosis.entrance(
        Entrance(scheme=scheme, is_local=is_local, has_certificate=has_certificate, proxies=proxies)
    )
    assert [(one.subject, one.verdict) for one in told] == found
