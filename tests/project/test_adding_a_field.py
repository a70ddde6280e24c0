"""The steps of "Adding a field" in CONTRIBUTING.md are all that it takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from handbook.contract import faults, index_page, promises

PROJECT = Path(__file__).parents[2]
COPIED = ("src", "tests", "docs", "handbook", "bench")
_STEP = re.compile(r"^[0-9]+\. `([^`]+)`", re.MULTILINE)
_DIFF = re.compile(r"^   ```diff\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)
STORE_SUITE = (
    "tests/store/test_archive.py",
    "tests/store/test_history_store.py",
    "tests/upgrades/test_upgrades.py::test_a_newer_program_goes_on_with_an_older_list",
)
"""What reads and writes each column, and a newer version of the schema."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step of the text says to do to one file; the diff is "" if it shows none."""

    file: str
    diff: str


def steps() -> Iterator[Step]:
    """Yield the steps of the text."""
    text = (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.split("\n## Adding a field\n")[1].split("\n## ")[0]
    _, *parts = _STEP.split(section)
    for file, rest in zip(parts[::2], parts[1::2], strict=True):
        diff = _DIFF.search(rest)
        yield Step(file, re.sub("^   ", "", diff[1], flags=re.MULTILINE) if diff else "")


def applied(lines: Sequence[str], hunk: Sequence[str]) -> list[str]:
    """Return lines with a hunk, whose context may be cut short, in the one place where it fits."""
    old = [line[1:] for line in hunk if line[0] in " -"]
    places = [
        place
        for place in range(len(lines) - len(old) + 1)
        if all(map(str.startswith, lines[place:], old))
    ]
    assert len(places) == 1, f"{old} fits {len(places)} times"
    (start,) = places
    there = iter(lines[start : start + len(old)])
    # A line of context is what is there, one with + is itself, and one with - is dropped.
    changed = [line[1:] if line[0] == "+" else next(there) for line in hunk]
    kept = [line for line, sign in zip(changed, hunk, strict=True) if sign[0] != "-"]
    return [*lines[:start], *kept, *lines[start + len(old) :]]


def take(step: Step, tree: Path) -> None:
    """Do in a tree what a step says."""
    path = tree / step.file
    if "NNNN" in step.file:
        number = int(max(file.name for file in path.parent.glob("*.sql"))[:4]) + 1
        path = path.with_name(path.name.replace("NNNN", f"{number:04}"))
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    for hunk in step.diff.split("@@\n"):
        lines = applied(lines, hunk.splitlines())
    path.write_text("\n".join(lines) + "\n", "utf-8")


def test_the_steps_of_adding_a_field_are_all_that_it_takes(tmp_path: Path) -> None:
    for name in COPIED:
        shutil.copytree(PROJECT / name, tmp_path / name)
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    numbers, _ = promises((tmp_path / "docs/contract.md").read_text("utf-8"))
    place = max(number.place for number in numbers if number.section == 5) + 1
    taken = [Step(step.file, step.diff.replace("C5.N", f"C5.{place}")) for step in steps()]
    assert len({step.file for step in taken} | {"docs/contract-index.md"}) <= 8
    for step in taken:
        if step.diff:
            take(step, tmp_path)
    assert faults(tmp_path) == []
    assert f"| C5.{place} | `model/entries.py` `Details` |" in index_page(tmp_path)

    of_this_run = ("COVERAGE", "PYTEST", "PYTHON", "FEEDKEEP_PROVE")
    environment = {n: v for n, v in os.environ.items() if not n.startswith(of_this_run)}
    added = [step.file for step in taken if step.file.startswith("tests/")]
    plain = ("-p", "no:cacheprovider", "-p", "no:xdist", "-k", "sqlite")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *added, *STORE_SUITE],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
