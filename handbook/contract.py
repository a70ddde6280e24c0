"""Index of the promises of docs/contract.md: the code that implements each, and its tests.

A promise is cited by its number, such as C5.3, in a docstring or a comment: in `src/`, where its
rule is implemented; in `tests/`, in or right above the test that proves it.
`python -m handbook.contract` exits with 1 if a number has no code or no test, or does not exist.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parent.parent

_CONTRACT = Path("docs", "contract.md")
_CODE, _TESTS = Path("src", "feedkeep"), Path("tests")
_DEFINED = re.compile(r"\*\*C([0-9]+)\.([0-9]+)\*\*")
_CITED = re.compile(r"\bC([0-9]+)\.([0-9]+)\b")
_SECTION = re.compile(r"## ([0-9]+)\. ")
_BEGINS_WITH_NUMBER = re.compile(r"(?:- |[0-9]+\. |\| )?" + _DEFINED.pattern)
_BEGINS_ITEM = ("- ", "| ")
_LIST_NUMBER = re.compile(r"[0-9]+\. ")
_INDEX = """# Contract index

<!-- Written by `make reference` from the code: change it there. -->

The code that carries out each promise of [contract.md](contract.md), in `src/feedkeep/`, and the
tests that prove it, in `tests/`.

| promise | code | tests |
|---|---|---|
"""


class Number(NamedTuple):
    """Number of a promise: its section, and a number within it in the order of writing."""

    section: int
    place: int

    def __str__(self) -> str:
        return f"C{self.section}.{self.place}"


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation of a promise in a docstring or comment.

    Attributes:
        file: Path from the root of the project.
        name: Function, class or constant that the citation belongs to; "" for the module.
    """

    file: Path
    line: int
    name: str
    number: Number

    @property
    def is_in_code(self) -> bool:
        """Whether the citation is in the code."""
        return self.file.is_relative_to(_CODE)

    @property
    def is_in_test(self) -> bool:
        """Whether the citation belongs to a test."""
        return self.file.is_relative_to(_TESTS) and self.name.startswith(("test_", "Test"))

    def __str__(self) -> str:
        file = self.file.relative_to(_CODE if self.is_in_code else _TESTS).as_posix()
        return f"`{file}` `{self.name}`" if self.name else f"`{file}`"


@dataclass(frozen=True, slots=True)
class _Place:
    """Lines that belong to a name, with the comments right above and the docstring below."""

    first: int
    last: int
    name: str


def promises(text: str) -> tuple[list[Number], list[str]]:
    """Return the numbers that a contract defines, in its order, and its faults."""
    numbers: list[Number] = []
    faults: list[str] = []
    section = 0
    lines = text.splitlines()
    for line_number, (before, line) in enumerate(zip(["", *lines], lines, strict=False), 1):
        where = f"{_CONTRACT}:{line_number}"
        if heading := _SECTION.match(line):
            section = int(heading[1])
        elif section and _begins_block(before, line) and not _BEGINS_WITH_NUMBER.match(line):
            faults.append(f"{where}: this has no number")
        for match in _DEFINED.finditer(line):
            number = Number(int(match[1]), int(match[2]))
            if number.section != section:
                faults.append(f"{where}: {number} stands outside of its section")
            if number in numbers:
                faults.append(f"{where}: {number} is there already")
            numbers.append(number)
    return numbers, faults


def _begins_block(before: str, line: str) -> bool:
    """Whether a line begins a paragraph, an item of a list, or a row in the body of a table."""
    if not line.strip() or line.startswith("|---") or (not before and line.startswith("| ")):
        return False  # the head of a table has no number
    return not before or line.startswith(_BEGINS_ITEM) or _LIST_NUMBER.match(line) is not None


def citations(project: Path, folder: Path) -> Iterator[Citation]:
    """Yield the citations in the docstrings and comments of a folder of the project."""
    for path in sorted((project / folder).rglob("*.py")):
        source = path.read_text("utf-8")
        if _CITED.search(source):
            yield from _citations_in(path.relative_to(project), source)


def _citations_in(file: Path, source: str) -> Iterator[Citation]:
    tree, lines = ast.parse(source), source.splitlines()
    places = list(_places(tree.body, "", lines))
    for line_number, text in sorted({*_comments(source), *_docstrings(tree, lines)}):
        around = [place for place in places if place.first <= line_number <= place.last]
        inmost = min(around, key=lambda place: place.last - place.first, default=None)
        for match in _CITED.finditer(text):
            number = Number(int(match[1]), int(match[2]))
            yield Citation(file, line_number, inmost.name if inmost else "", number)


def _places(body: Iterable[ast.stmt], outer: str, lines: list[str]) -> Iterator[_Place]:
    """Yield the functions, classes and constants among some statements, and those inside them."""
    before: _Place | None = None
    for statement in body:
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        if _is_text(statement) and before:  # the docstring of a constant
            yield _Place(first, last, before.name)
        before = None
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = min([first, *(one.lineno for one in statement.decorator_list)])
                name = f"{outer}{statement.name}"
                yield _Place(_with_comments(first, lines), last, name)
                if isinstance(statement, ast.ClassDef):
                    yield from _places(statement.body, f"{name}.", lines)
            case (
                ast.Assign(targets=[ast.Name(id=target)])
                | ast.AnnAssign(target=ast.Name(id=target))
            ):
                before = _Place(_with_comments(first, lines), last, f"{outer}{target}")
                yield before


def _with_comments(first: int, lines: list[str]) -> int:
    """Return the first line of the comments right above a line."""
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _docstrings(tree: ast.Module, lines: list[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and _is_text(node):
            for line_number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                yield line_number, lines[line_number - 1]


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def faults(project: Path = PROJECT) -> list[str]:
    """Return the faults of the numbers and their citations, one per line."""
    numbers, found = promises((project / _CONTRACT).read_text("utf-8"))
    carried: set[Number] = set()
    proved: set[Number] = set()
    for citation in [*citations(project, _CODE), *citations(project, _TESTS)]:
        where = f"{citation.file}:{citation.line}"
        if citation.number not in numbers:
            found.append(f"{where}: {citation.number} is not in {_CONTRACT}")
        elif citation.is_in_code:
            carried.add(citation.number)
        elif citation.is_in_test:
            proved.add(citation.number)
        else:
            found.append(f"{where}: {citation.number} is cited outside of a test")
    found += [
        f"{number}: no code in {_CODE} cites it" for number in numbers if number not in carried
    ]
    found += [f"{number}: no test cites it" for number in numbers if number not in proved]
    return found


def index_page(project: Path = PROJECT) -> str:
    """Return the text of docs/contract-index.md, made from the citations."""
    numbers, _ = promises((project / _CONTRACT).read_text("utf-8"))
    code, tests = list(citations(project, _CODE)), list(citations(project, _TESTS))
    rows = [
        f"| {number} | {_places_of(number, code)} | {_places_of(number, tests)} |\n"
        for number in sorted(numbers)
    ]
    return _INDEX + "".join(rows)


def _places_of(number: Number, cited: Iterable[Citation]) -> str:
    return "<br>".join(dict.fromkeys(str(one) for one in cited if one.number == number))


if __name__ == "__main__":
    sys.exit("\n".join(faults()) or 0)
