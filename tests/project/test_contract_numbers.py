"""The numbers of the contract: each has code that carries it out, and a test that proves it."""

import pytest

from handbook.contract import faults, index_page

DOC = "docs/contract.md"
SOME, TESTS = "src/feedkeep/rules/some.py", "tests/contract/test_some.py"
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
    for name, text in ((DOC, CONTRACT), (SOME, CODE), (TESTS, TEST)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


NO_CODE, NO_TEST = "no code in src/feedkeep cites it", "no test cites it"


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (SOME, "# C2.1", "#", [f"C2.1: {NO_CODE}"]),
        (SOME, "  # C2.1", " + 'C2.1'", [f"C2.1: {NO_CODE}"]),
        (SOME, "for C1.3", "", [f"C1.3: {NO_CODE}"]),
        (TESTS, "# C1.5, C2.1", "# C1.5", [f"C2.1: {NO_TEST}"]),
        (TESTS, "proves C1.3", "proves", [f"C1.3: {NO_TEST}"]),
        (TESTS, "Tests.", "Tests of C1.1.", [f"{TESTS}:1: C1.1 is cited outside of a test"]),
        (SOME, "A module", "C1.10, a module", [f"{SOME}:1: C1.10 is not in {DOC}"]),
        (TESTS, "# C1.1,", "# C3.1, C1.1,", [f"{TESTS}:4: C3.1 is not in {DOC}"]),
        (
            DOC,
            "nothing",
            "**C1.1**",
            [f"{DOC}:3: C1.1 stands outside of its section", f"{DOC}:7: C1.1 is there already"],
        ),
        (
            DOC,
            "**C1.3** They end.",
            "They end.\n- More.",
            [f"{DOC}:11: this has no number"]
            + [f"{file}:7: C1.3 is not in {DOC}" for file in (SOME, TESTS)],
        ),
        (DOC, "| 404 |", "| 404 |\n| | 405 |", [f"{DOC}:17: this has no number"]),
        (DOC, "Last.", "Last.\n\nMore.", [f"{DOC}:22: this has no number"]),
        (DOC, "First.", "First.\n2. Second.", [f"{DOC}:13: this has no number"]),
    ],
)
def test_what_is_wrong_is_told(project, name, old, new, told):
    assert faults(project) == []
    path = project / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert faults(project) == told


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
