"""What is a fault of a machine, what is worth a note, and what is neither."""

import pytest

from feedkeep.cli import diagnosis
from feedkeep.cli.diagnosis import Entrance, Verdict
from feedkeep.model import Stamp
from feedkeep.rules.clock import DAY_US, SECOND_US

NOW = Stamp(1_795_000_000 * SECOND_US)
YEAR_US = 365 * DAY_US
OK, NOTE, FAULT = Verdict


def test_a_full_disk_is_a_fault_and_an_old_backup_or_a_certificate_near_its_end_a_note():
    for free_bytes, verdict in ((0, FAULT), (499_999_999, FAULT), (500_000_000, OK)):
        assert diagnosis.disk(free_bytes).verdict is verdict
    assert diagnosis.backup(None, NOW).verdict is NOTE
    for age_us, verdict in ((0, OK), (2 * DAY_US - 1, OK), (2 * DAY_US, NOTE), (-DAY_US, OK)):
        assert diagnosis.backup(Stamp(NOW - age_us), NOW).verdict is verdict
    for days, verdict in ((13, NOTE), (14, OK), (90, OK)):
        assert diagnosis.certificate(Stamp(NOW + days * DAY_US), NOW).verdict is verdict


def test_missing_rights_and_connections_beyond_the_limit_are_faults():
    assert diagnosis.rights([]).verdict is OK
    found = diagnosis.rights(["token", "entry"])
    assert (found.verdict, "entry, token" in found.text) == (FAULT, True)
    assert diagnosis.connections(workers=4, of_each=25, limit=100).verdict is OK
    found = diagnosis.connections(workers=4, of_each=25, limit=99)
    assert found.verdict is FAULT
    assert "99" in found.text
    assert "100" in found.text


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
