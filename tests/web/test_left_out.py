"""Without a browser, the tests of the pages are left out, which is said; or it is a failure."""

import os
import re
import subprocess
import sys
from pathlib import Path

from forms import in_the_long_form

ANY = Path(__file__).with_name("test_keyboard.py")


def run_without_a_browser(nothing: Path, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", ANY],
        env={**os.environ, "FEEDKEEP_BROWSER": "", **environment, "PATH": str(nothing)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@in_the_long_form
def test_without_a_browser_it_is_said_how_many_tests_were_left_out(tmp_path):
    status, told = run_without_a_browser(tmp_path)
    assert status == 0, told
    left_out = r"[1-9] tests of the pages were left out\. There is no Chromium on this machine\."
    assert re.search(left_out, told), told


@in_the_long_form  # which is what CI has, and there one is required
def test_where_a_browser_is_required_it_is_a_failure_that_there_is_none(tmp_path):
    status, told = run_without_a_browser(tmp_path, FEEDKEEP_BROWSER="required")
    assert status == 1, told
    assert "There is no Chromium, and FEEDKEEP_BROWSER requires one." in told
