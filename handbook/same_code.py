"""Check that a change of prose changes no code.

`python -m handbook.same_code BEFORE [AFTER]` compares two commits, or a commit with the working
tree. It exits with 1 and names the Python files whose syntax trees differ apart from docstrings.
`pass` is ignored, too: it takes the place of a docstring that was the whole body.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parent.parent


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        value = node.value
        return None if isinstance(value, ast.Constant) and isinstance(value.value, str) else node

    def visit_Pass(self, _node: ast.Pass) -> None:
        pass


def code(source: str) -> str:
    """Return the syntax tree of a module without docstrings, also of attributes."""
    return ast.dump(_WithoutDocstrings().visit(ast.parse(source)))


def changed(before: str, after: str | None, project: Path = PROJECT) -> Iterator[str]:
    """Yield the paths of files with different code, including added and deleted files.

    Args:
        before: The earlier commit.
        after: The later commit; None is the working tree, without untracked files.
        project: The root of the repository.
    """

    def git(*arguments: str) -> str:
        return subprocess.run(  # noqa: S603 - the arguments are ours and the caller's
            ("git", *arguments),  # noqa: S607 - whichever git the developer uses
            cwd=project, check=True, capture_output=True, text=True, encoding="utf-8",
        ).stdout  # fmt: skip

    def read(commit: str | None, path: str) -> str:
        return git("show", f"{commit}:{path}") if commit else (project / path).read_text("utf-8")

    commits = (before, after) if after else (before,)
    lines = git("diff", "--name-status", "--no-renames", *commits, "--", "*.py").splitlines()
    for status, path in (line.split("\t") for line in lines):
        if status != "M" or code(read(before, path)) != code(read(after, path)):
            yield path


if __name__ == "__main__":
    first, second = (*sys.argv[1:], None)[:2]
    sys.exit("\n".join(changed(str(first), second)) or 0)
