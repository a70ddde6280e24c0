"""Any feed or picture of another host is read within 2 s and 64 MiB, or rejected."""

import os
import subprocess
import sys
import time
from pathlib import Path

import mutated
import pytest
from forms import IS_FULL, in_the_long_form

TESTS = Path(__file__).parents[1]
PATHS = os.pathsep.join(str(path) for path in (TESTS, TESTS / "feeds", TESTS / "proofs"))


def prove(kind, count, seed, *broken):
    program = [sys.executable, mutated.__file__, kind, str(count), str(seed), *broken]
    done = subprocess.run(
        program, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": PATHS}
    )
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines and lines[-1] == str(count):
        return lines[:-1]
    return [*lines, f"it ended with {done.returncode}: {done.stderr[-500:]}"]


@pytest.mark.parametrize(("kind", "full"), [("feeds", 20_000), ("pictures", 5_000)])
def test_whatever_is_sent_is_read_within_bounds_or_refused(amount, kind, full):
    seed = time.time_ns() if IS_FULL else 7
    assert prove(kind, amount(150, full, full // 10), seed) == [], f"with the seed {seed}"


@in_the_long_form
@pytest.mark.parametrize(
    ("kind", "broken", "complaints"),
    [
        ("feeds", "reading_crashes_now_and_then", ["it ended with -6"]),
        ("feeds", "reading_is_slow_and_large", ["it took 7.", " bytes"]),
        ("feeds", "texts_are_kept_as_they_are", ["a text "]),
        ("pictures", "pictures_are_kept_as_they_are", ["a picture is not small"]),
        ("pictures", "damage_is_not_expected", ["an error: "]),
    ],
)
def test_the_proof_notices(kind, broken, complaints):
    found = prove(kind, 200, 7, broken)
    assert all(any(complaint in line for line in found) for complaint in complaints), found
