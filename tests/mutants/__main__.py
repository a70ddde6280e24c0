"""Break src in one line at a time, and report which faults the tests of its folder do not notice.

    python tests/mutants --count 200 --seed 1 --tests OTHER_TREE

The tests may be those of another tree with the same src, to compare two states of the tests by the
same mutants. Each process works on a copy of its own; nothing in the trees is changed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sysconfig
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SHARES = {
    "rules": (60, ("rules", "contract", "gpodder")),
    "store": (40, ("store",)),
    "service": (30, ("service", "cli", "contract", "gpodder", "feeds", "web")),
    "http": (20, ("http", "contract")),
    "openpodcast": (10, ("contract",)),
    "gpodder": (12, ("gpodder",)),
    "url_sync": (5, ("gpodder", "nextcloud")),
    "nextcloud": (3, ("nextcloud",)),
    "web": (20, ("web", "oidc")),
}
"""Number of mutants of each package, of two hundred, and the folders that should notice them."""

PATIENCE_SECONDS = 600
"""Maximum time of one folder's tests, which most faults that hang exceed."""

_TOO_LONG = -1
_LEFT_OUT = ("@", "class ", "_log.")
"""Beginnings of lines without mutants: options of classes, and log calls."""
_COPIED = ("src", "tests", "conformance", "docs", "deploy", "handbook", "bench", "requirements")
_COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_SQL = {
    " < ": " <= ",
    " <= ": " < ",
    " > ": " >= ",
    " >= ": " > ",
    " AND ": " OR ",
    " max(": " min(",
}


class Mutant(NamedTuple):
    """A line of a file of feedkeep, and what it becomes."""

    file: str
    line: int
    old: str
    new: str
    package: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old.strip()}  ->  {self.new.strip()}"


def _parts(node: ast.AST, text: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield parts of one line that can be replaced, each with what replaces it."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield node, f"{ast.unparse(left)} {_COMPARED[type(op)]} {ast.unparse(right)}"
        case ast.BoolOp(op=op, values=values):
            word = " or " if isinstance(op, ast.And) else " and "
            yield node, f"({word.join(ast.unparse(value) for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = "-" if isinstance(op, ast.Add) else "+"
            yield node, f"{ast.unparse(left)} {sign} {ast.unparse(right)}"
        case ast.Constant(value=bool(value)):
            yield node, repr(not value)
        case ast.Constant(value=int(value)):
            yield node, repr(value + 1)
        case ast.Call(func=ast.Name(id="max" | "min" as name)):
            other = "min" if name == "max" else "max"
            yield node, other + text[len(name) :]
        case ast.Call(func=ast.Name(id="any" | "all" as name)):
            other = "all" if name == "any" else "any"
            yield node, other + text[len(name) :]
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.AugAssign():
            yield node, "pass"
        case ast.Continue():
            yield node, "break"


def _mutants_of(path: Path, package: str) -> Iterator[Mutant]:
    source = path.read_text()
    lines = source.splitlines()
    file = str(path.relative_to(ROOT))
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.expr | ast.stmt) or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        if not line.isascii() or line.lstrip().startswith(_LEFT_OUT):
            continue
        text = line[node.col_offset : node.end_col_offset]
        for _, new in _parts(node, text):
            changed = line[: node.col_offset] + new + line[node.end_col_offset :]
            if changed != line and _is_python([*lines[: node.lineno - 1], changed], lines, node):
                yield Mutant(file, node.lineno, line, changed, package)
    for number, line in enumerate(lines, 1):
        for old, new in _SQL.items():
            if old in line and line.lstrip()[:1] in "\"'" and "store" in file:
                yield Mutant(file, number, line, line.replace(old, new, 1), package)


def _is_python(begin: list[str], lines: list[str], node: ast.expr | ast.stmt) -> bool:
    try:
        ast.parse("\n".join([*begin, *lines[node.lineno :]]))
    except SyntaxError:
        return False
    return True


def chosen(count: int, seed: int) -> list[Mutant]:
    """Return so many mutants, the same ones for each seed, and at most one of each line."""
    choice = random.Random(seed)
    found = []
    for package, (share, _) in SHARES.items():
        files = sorted((ROOT / "src/feedkeep" / package).rglob("*.py"))
        every = {one[:2]: one for file in files for one in _shuffled(choice, file, package)}
        found += choice.sample(sorted(every.values()), round(share * count / 200))
    return found


def _shuffled(choice: random.Random, file: Path, package: str) -> list[Mutant]:
    each = list(_mutants_of(file, package))
    choice.shuffle(each)
    return each


class Copy:
    """A copy of src and of some tests, with an environment in which feedkeep is that copy."""

    def __init__(self, folder: Path, tests: Path) -> None:
        self._folder = folder
        for name in _COPIED:
            origin = tests if name == "tests" else ROOT
            shutil.copytree(origin / name, folder / name, symlinks=True)
        for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile"):
            shutil.copy(tests / name, folder / name)
        venv.create(folder / ".venv")
        paths = [folder / "src", folder / "conformance/src", sysconfig.get_path("purelib")]
        [site] = (folder / ".venv").glob("lib/python*/site-packages")
        (site / "of_this_copy.pth").write_text("".join(f"{path}\n" for path in paths))
        self._python = folder / ".venv/bin/python"
        command = folder / ".venv/bin/feedkeep"
        command.write_text(f"#!{self._python}\nfrom feedkeep.cli import main\nmain()\n")
        command.chmod(0o755)
        self._changes = 0

    def status(self, mutant: Mutant) -> int:
        """Return the exit status of the tests with a mutant, which is 0 if they miss it."""
        path = self._folder / mutant.file
        lines = path.read_text().splitlines(keepends=True)
        self._write(path, [*lines[: mutant.line - 1], f"{mutant.new}\n", *lines[mutant.line :]])
        try:
            return self.run(mutant)
        finally:
            self._write(path, lines)

    def _write(self, path: Path, lines: list[str]) -> None:
        path.write_text("".join(lines))
        self._changes += 10  # a later time, so that no compiled file seems to be its own
        os.utime(path, (time.time() + self._changes,) * 2)

    def run(self, mutant: Mutant) -> int:
        folders = [self._folder / "tests" / name for name in SHARES[mutant.package][1]]
        for folder in folders:
            nearest = sorted(folder.rglob(f"test_{Path(mutant.file).stem}*.py"))
            if status := self._run([*nearest, folder]):
                return status
        return 0

    def _run(self, tests: list[Path]) -> int:
        command = [self._python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, *tests],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 15)
            process.wait()
            return _TOO_LONG


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=Path, default=ROOT, help="the tree whose tests are run")
    parser.add_argument(
        "--survivors-of", type=Path, help="the report of a run whose survivors to try"
    )
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    mutants = chosen(asked.count, asked.seed)
    if asked.survivors_of:
        report = asked.survivors_of.read_text().splitlines()
        mutants = [mutant for mutant in mutants if f"SURVIVED {mutant}" in report]
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(asked.at_once):
            copies.put(Copy(Path(folder) / str(number), asked.tests))

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                status = copy.status(mutant)
            finally:
                copies.put(copy)
            outcome = {0: "SURVIVED", _TOO_LONG: "too long"}.get(status, "noticed ")
            print(outcome, mutant, flush=True)
            return status != 0

        with ThreadPoolExecutor(asked.at_once) as threads:
            found = zip(mutants, threads.map(tried, mutants), strict=True)
            noticed = Counter(mutant.package for mutant, is_noticed in found if is_noticed)
    every = Counter(one.package for one in mutants)
    for package, count in every.items():
        print(f"{package}: {noticed[package]} of {count}")
    print(f"{noticed.total()} of {every.total()} were noticed")


if __name__ == "__main__":
    main()
