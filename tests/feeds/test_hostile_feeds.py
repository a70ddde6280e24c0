"""No document of 8 MiB takes long to read, or much memory, whatever is in it."""

import os
import subprocess
import sys
from pathlib import Path

import hostile_feeds


def test_a_document_of_any_shape_is_read_or_refused_in_time():
    program = [sys.executable, hostile_feeds.__file__]
    tests = Path(__file__).parents[1]
    # To note each line that runs would take most of the time.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    environment["PYTHONPATH"] = os.pathsep.join(
        map(str, (tests, tests / "feeds", tests / "proofs"))
    )
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout.splitlines()) == (0, list(hostile_feeds.SHAPES))
