"""The numbers of the contract: each has code that carries it out, and a test that proves it."""

from pathlib import Path

import pytest

from handbook.contract import faults, index_page

CONTRACT = """# Contract

Before the first section there is nothing.

## 1. Base

**C1.1** Every route
is served twice.

- **C1.2** Bodies are JSON. **C1.3** They end.

1. **C1.4** First.

| | status |
|---|---|
| **C1.5** | 404 |

## 2. Rest

**C2.1** Last.
"""
CODE = '''"""A module for C1.1."""

# C1.2
LIMIT = 5

OTHER = 6
"""A constant for C1.3."""


@final
class Thing:
    """Carries out C1.4, as C1.1 says."""

    field = 5  # C1.5

    def method(self) -> str:
        return "C1.9 in a text is no citation"  # C2.1
'''
TEST = '''"""Tests."""


# C1.1, C1.2
@parametrize("C1.9")
def test_one():
    """It proves C1.3."""
    assert one  # C1.4


# C1.5, C2.1
TestMachine = Machine.TestCase
'''


@pytest.fixture
def project(tmp_path):
    """A project in which each number has code and a test."""
    for name in ("docs", "src/feedkeep/rules", "tests/contract"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "docs/contract.md").write_text(CONTRACT)
    (tmp_path / "src/feedkeep/rules/some.py").write_text(CODE)
    (tmp_path / "tests/contract/test_some.py").write_text(TEST)
    return tmp_path


def changed(project: Path, name: str, old: str, new: str) -> list[str]:
    """Return what is wrong once a text in a file of a project is another one."""
    path = project / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return faults(project)


def test_nothing_is_wrong_where_each_number_has_code_and_a_test(project):
    assert faults(project) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("src/feedkeep/rules/some.py", "# C2.1", "#", ["C2.1: no code in src/feedkeep cites it"]),
        (
            "src/feedkeep/rules/some.py", "  # C2.1", " + 'C2.1'",
            ["C2.1: no code in src/feedkeep cites it"],
        ),
        ("src/feedkeep/rules/some.py", "for C1.3", "", ["C1.3: no code in src/feedkeep cites it"]),
        ("tests/contract/test_some.py", "# C1.5, C2.1", "# C1.5", ["C2.1: no test cites it"]),
        ("tests/contract/test_some.py", "proves C1.3", "proves", ["C1.3: no test cites it"]),
        (
            "tests/contract/test_some.py", "Tests.", "Tests of C1.1.",
            ["tests/contract/test_some.py:1: C1.1 is cited outside of a test"],
        ),
        (
            "src/feedkeep/rules/some.py", "A module", "C1.10, a module",
            ["src/feedkeep/rules/some.py:1: C1.10 is not in docs/contract.md"],
        ),
        (
            "tests/contract/test_some.py", "# C1.1,", "# C3.1, C1.1,",
            ["tests/contract/test_some.py:4: C3.1 is not in docs/contract.md"],
        ),
        ("docs/contract.md", "nothing", "**C1.1**",
         ["docs/contract.md:3: C1.1 stands outside of its section",
          "docs/contract.md:7: C1.1 is there already"]),
        ("docs/contract.md", "**C1.3** They end.", "They end.\n- More.",
         ["docs/contract.md:11: this has no number",
          "src/feedkeep/rules/some.py:7: C1.3 is not in docs/contract.md",
          "tests/contract/test_some.py:7: C1.3 is not in docs/contract.md"]),
        ("docs/contract.md", "| **C1.5** | 404 |", "| **C1.5** | 404 |\n| | 405 |",
         ["docs/contract.md:17: this has no number"]),
        ("docs/contract.md", "**C2.1** Last.", "**C2.1** Last.\n\nMore.",
         ["docs/contract.md:22: this has no number"]),
        ("docs/contract.md", "**C1.4** First.", "**C1.4** First.\n2. Second.",
         ["docs/contract.md:13: this has no number"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(project, name, old, new, told):
    assert changed(project, name, old, new) == told


def test_the_index_names_for_each_number_the_code_and_the_tests(project):
    code = "`rules/some.py`"
    test = "`contract/test_some.py` `test_one`"
    rows = [line for line in index_page(project).splitlines() if line.startswith("| C")]
    assert rows == [
        f"| C1.1 | {code}<br>{code} `Thing` | {test} |",
        f"| C1.2 | {code} `LIMIT` | {test} |",
        f"| C1.3 | {code} `OTHER` | {test} |",
        f"| C1.4 | {code} `Thing` | {test} |",
        f"| C1.5 | {code} `Thing.field` | `contract/test_some.py` `TestMachine` |",
        f"| C2.1 | {code} `Thing.method` | `contract/test_some.py` `TestMachine` |",
    ]
