"""The one file to run: the same from the same source, and complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_it_runs_without_installing_and_is_the_same_each_time(tmp_path: Path) -> None:
    built = [tmp_path / name / "podsync-check.pyz" for name in ("first", "second")]
    for file in built:
        made = ["make", "-s", "conformance-pyz", f"PYZ={file}", f"PYTHON={sys.executable}"]
        subprocess.run(made, check=True, cwd=PROJECT)  # noqa: S603
    assert built[0].read_bytes() == built[1].read_bytes()
    asked = [sys.executable, "-I", str(built[0])]
    listed = subprocess.run([*asked, "--list"], check=True, capture_output=True, text=True)  # noqa: S603
    assert "kept/a_late_upload_reaches_the_others" in listed.stdout
    nowhere = subprocess.run(asked, check=False, capture_output=True, text=True)  # noqa: S603
    assert nowhere.returncode == 2
    assert "Name the server" in nowhere.stderr
