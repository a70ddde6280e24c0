"""`make` says what to install, and leaves nothing half made; what it installs has ranges."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = Path(__file__).parents[2]
PYTHONS = ("python3", "python3.11", "python3.12", "python3.13")

# As Debian's without the package python3-venv.
WITHOUT_ENSUREPIP = f"""#!/bin/sh
exec {sys.executable} -c '
import sys
sys.modules["ensurepip"] = None
exec(sys.argv[1])
' "$2"
"""
FAILS_HALF_WAY = """#!/bin/sh
[ "$1" = -m ] || exit 0
mkdir -p .venv/bin
touch .venv/bin/python
exit 1
"""

MAKES_WHERE_NOTHING_IS = """#!/bin/sh
[ "$1" = -m ] || exit 0
mkdir .venv .venv/bin && touch .venv/bin/pip
"""


@pytest.fixture
def clone(tmp_path):
    """The files of the project that `make` reads, without its environment."""
    (tmp_path / "conformance").mkdir()
    for name in ("Makefile", "pyproject.toml", "conformance/pyproject.toml"):
        shutil.copy(PROJECT / name, tmp_path / name)
    shutil.copytree(PROJECT / "requirements", tmp_path / "requirements")
    return tmp_path


def make(clone: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{path}:{os.environ['PATH']}".lstrip(":"), "HOME": str(clone)}
    options = {"cwd": clone, "env": environment, "capture_output": True, "text": True}
    return subprocess.run(["make", *arguments], **options, check=False)


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def test_without_ensurepip_it_is_told_what_to_install(clone):
    for name in PYTHONS:
        program(clone / "bin", name, WITHOUT_ENSUREPIP)
    named = program(clone / "other", "named", WITHOUT_ENSUREPIP)
    for done in (
        make(clone, "serve", path=str(clone / "bin")),
        make(clone, "test", path=str(clone / "bin")),
        make(clone, "serve", f"PYTHON={named}"),
    ):
        assert done.returncode == 2
        assert "sudo apt install python3-venv" in done.stderr
        assert "Python 3.11 or newer" in done.stderr
        assert not (clone / ".venv").exists()


def test_half_made_environment_is_taken_away_after_a_failure_and_before_it_is_made_anew(clone):
    named = program(clone / "bin", "named", FAILS_HALF_WAY)
    assert make(clone, "serve", f"PYTHON={named}").returncode == 2
    assert not (clone / ".venv").exists()
    program(clone / ".venv" / "bin", "python", "#!/bin/sh\nexit 1\n")
    named = program(clone, "named", MAKES_WHERE_NOTHING_IS)
    done = make(clone, ".venv/bin/pip", f"PYTHON={named}")
    assert done.returncode == 0, done.stderr
    assert [file.name for file in (clone / ".venv" / "bin").iterdir()] == ["pip"]


def test_catalogues_have_what_the_sources_say_and_a_missing_one_is_made_from_nothing(clone):
    sources, without_caches = clone / "src" / "feedkeep", shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "src" / "feedkeep", sources, ignore=without_caches)
    texts = sources / "http" / "pages" / "locale"
    before = {file.name: file.read_text() for file in texts.iterdir()}
    (texts / "fr.po").unlink()
    done = make(clone, "texts", "-o", ".venv/dev", f"BIN={Path(sys.executable).parent}")
    assert done.returncode == 0, done.stderr
    made = {file.name: file.read_text() for file in texts.iterdir()}
    french = made.pop("fr.po")
    assert made == {name: before[name] for name in ("de.po", "es.po")}
    assert 'msgid "Add a feed"\nmsgstr ""' in french
    assert "n > 1" in french


# Ranges of dependencies: documented, locked at both ends, and audited there.


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
