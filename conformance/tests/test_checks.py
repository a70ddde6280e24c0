"""A server that is right passes every check; one that is broken fails the check meant for it."""

from __future__ import annotations

import inspect
import re

import pytest
from broken_servers import BROKEN, Broken
from in_process import new_server, run

from podsync_check.checks import all_checks, all_hard_cases
from podsync_check.running import BAD, Outcome


def test_a_server_that_is_right_passes_every_check() -> None:
    report = run(*new_server())
    assert {result.outcome for result in report.results} == {Outcome.PASSED}
    assert report.is_complete
    is_last = [result.check.runs_last for result in report.results]
    assert is_last == sorted(is_last)
    assert True in is_last


def test_each_check_has_a_server_that_fails_it() -> None:
    assert {check.name for check in all_checks()} == {broken.check for broken in BROKEN}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.breaks.__name__)
def test_exactly_the_check_that_is_meant_notices(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, clock = new_server()
    broken.breaks(monkeypatch)
    # Long checks take most of the time, and notice what others notice, too.
    is_long = re.compile("random_|.*_takes_seconds").match
    checks = [one for one in all_checks() if one.name == broken.check or not is_long(one.name)]
    failed = {one.check.name for one in run(server, clock, checks).results if one.outcome in BAD}
    assert broken.check in failed
    if "*" not in broken.also:
        assert failed == {broken.check, *broken.also}


def test_no_check_is_longer_than_a_screen() -> None:
    functions = [one.run for one in all_checks()] + [one.play for one in all_hard_cases()]
    lengths = {one.__name__: len(inspect.getsource(one).splitlines()) for one in functions}
    assert max(lengths.values()) <= 40, lengths
