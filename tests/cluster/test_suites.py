"""The tests of the contract, of apps and of linearizability hold on a cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import Cluster

TESTS = Path(__file__).parents[1]
_PATIENCE_SECONDS = 14_400


@pytest.mark.parametrize(
    ("what", "paths"),
    [
        ("contract", ["contract"]),
        ("apps", ["gpodder", "nextcloud"]),
        ("linearizability", ["proofs/test_linearizable.py"]),
    ],
)
def test_the_suite_holds_on_a_cluster(
    what: str,
    paths: list[str],
    cluster: Cluster,
    tmp_path: Path,
    figures: Callable[[str], None],
    amount: Callable[[str, str], str],
) -> None:
    """They are the tests that other databases have, by `new_database` on the cluster."""
    # The short form has none of these on PostgreSQL.
    form = amount("long", "full")
    began = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-k", "postgres", f"--basetemp={tmp_path / 'own'}"),
            *(str(TESTS / path) for path in paths),
        ],
        env={**os.environ, **cluster.environment(), "FEEDKEEP_PROVE": form},
        capture_output=True,
        text=True,
        timeout=_PATIENCE_SECONDS,
        cwd=TESTS.parent,
        check=False,
    )
    found = re.search(r"^\d+ (?:passed|failed).*$", done.stdout, re.MULTILINE)
    figures(
        f"{what}: {found[0] if found else done.stdout[-300:]}"
        f" ({time.monotonic() - began:.0f} s in all)"
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " passed" in done.stdout
