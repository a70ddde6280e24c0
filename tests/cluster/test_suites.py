"""The tests of the contract, of apps and of linearizability hold on a cluster."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
_PATIENCE_SECONDS = 14_400


@pytest.mark.parametrize(
    ("what", "paths", "full_form"),
    [
        ("contract", ["contract"], ["full"]),
        ("apps", ["gpodder", "nextcloud"], ["full"]),
        # Its full form would take more than half a day here: one account has one batch at a time.
        ("linearizability", ["proofs/test_linearizable.py"], ["long"] * 20),
    ],
)
def test_the_suite_holds_on_a_cluster(what, paths, full_form, cluster, tmp_path, figures, amount):
    """They are the tests that other databases have, by `new_database` on the cluster."""
    began = time.monotonic()
    passed = 0
    for form in amount(["long"], full_form):  # the short form has none of these on PostgreSQL
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-k", "postgres"),
                f"--basetemp={tmp_path / 'own'}",
                *(str(TESTS / path) for path in paths),
            ],
            env={**os.environ, **cluster.environment(), "FEEDKEEP_PROVE": form},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            cwd=TESTS.parent,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-20_000:]
        found = re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)
        assert found, done.stdout[-20_000:]
        passed += int(found[1])
    figures(f"{what}: {passed} passed ({time.monotonic() - began:.0f} s in all)")
