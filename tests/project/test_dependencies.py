"""Ranges of dependencies: documented, locked at both ends, and audited there."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = Path(__file__).parents[2]


def ranges() -> dict[str, str]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"]["postgres"]]
    wanted = map(Requirement, listed)
    return {one.name: ",".join(sorted(map(str, one.specifier), reverse=True)) for one in wanted}


def locked(name: str) -> dict[str, Version]:
    """Return the versions in a file of requirements."""
    text = (PROJECT / "requirements" / f"{name}.txt").read_text("utf-8")
    return {
        found[1]: Version(found[2])
        for found in re.finditer(r"^([a-z0-9-]+)==([^ ;]+)", text, re.MULTILINE)
    }


def test_each_range_is_in_the_design():
    design = (PROJECT / "docs" / "design.md").read_text("utf-8").partition("\n## Dependencies")[2]
    assert dict(re.findall(r"^\| ([a-z0-9-]+) \| (>=\S+) \|", design, re.MULTILINE)) == ranges()


@pytest.mark.parametrize(
    ("package", "repaired"), [("python-multipart", "0.0.31"), ("aiohttp", "3.14.3")]
)
def test_lowest_version_is_without_known_faults(package, repaired):
    lowest = locked("lowest")[package]
    assert lowest >= Version(repaired)
    assert ranges()[package] == f">={lowest}"


def test_audit_looks_at_both_ends_of_each_range():
    told = subprocess.run(
        ["make", "-n", "audit"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert re.search(r"for locked in run postgres build lowest;", told.stdout)
    assert ranges().keys() <= locked("postgres").keys() & locked("lowest").keys()
