"""A server that is right passes every check; one that is broken fails the check meant for it."""

from __future__ import annotations

import pytest
from broken_servers import BROKEN, Broken
from in_process import new_server, run

from podsync_check.catalogue import all_checks
from podsync_check.checking import Level
from podsync_check.running import Outcome


def test_a_server_that_is_right_passes_every_check() -> None:
    report = run(*new_server())
    assert {result.outcome for result in report.results} == {Outcome.PASSED}
    assert report.is_complete


def test_each_check_has_a_server_that_fails_it() -> None:
    assert {check.name for check in all_checks()} == {broken.check for broken in BROKEN}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.breaks.__name__)
def test_exactly_the_check_that_is_meant_notices(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, clock = new_server()
    broken.breaks(monkeypatch)
    bad = {Outcome.FAILED, Outcome.DIFFERS}
    # Ten thousand actions take as long as all the rest, and show nothing that a thousand do not.
    checks = [
        one for one in all_checks() if one.level is not Level.FAST or one.name == broken.check
    ]
    failed = {one.check.name for one in run(server, clock, checks).results if one.outcome in bad}
    assert broken.check in failed
    if "*" not in broken.also:
        assert failed == {broken.check, *broken.also}
