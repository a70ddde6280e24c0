"""Without a browser, the tests of the pages are left out, which is said; or it is a failure."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from forms import in_the_long_form

ANY = Path(__file__).with_name("test_keyboard.py")


@in_the_long_form  # which is what CI has, and there one is required
@pytest.mark.parametrize(
    ("required", "status", "told"),
    [
        ("", 0, r"[1-9] tests of the pages were left out\. There is no Chromium on this machine\."),
        ("required", 1, "There is no Chromium, and FEEDKEEP_BROWSER requires one."),
    ],
)
def test_without_a_browser_tests_are_left_out_or_fail_and_say_so(tmp_path, required, status, told):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", ANY],
        env={**os.environ, "FEEDKEEP_BROWSER": required, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
    assert re.search(told, done.stdout), done.stdout
