"""Words that hide who acts, and sentences that need two readings: their number may only fall.

`python -m handbook.vague_words` exits with 1 if there are more lines of a kind than its `most`.
With `--list` it prints their places, with `--count` their numbers: a commit that rewrites such
lines lowers each `most` to the number that is left. No commit raises one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parent.parent

WORDS = ("nobody", "somebody", "whoever", "everybody")

_EVERYWHERE = (
    "src", "docs", "tests", "handbook", "bench", "deploy",
    "README.md", "CONTRIBUTING.md", "SECURITY.md",
)  # fmt: skip


class Kind(NamedTuple):
    """A kind of line to rewrite.

    Attributes:
        advice: Instruction to the author of such a line.
        pattern: Regular expression for a part of it.
        most: Maximum number of such lines.
        read: Files and folders that are read.
        names: Pattern of the names of files in these folders.
    """

    advice: str
    pattern: str
    most: int
    read: tuple[str, ...] = ("src/feedkeep",)
    names: str = "*.py"


KINDS = (
    Kind("Name who acts", rf"(?i)\b(?:{'|'.join(WORDS)})\b", 29, _EVERYWHERE, "*"),
    Kind(
        'Name the thing: "Return the ..."',
        r'"""(Return|Yield) (what|whose|which|how (many|much|long|far)|when|where|who|why|by what'
        r"|for how|until|since when)\b",
        0,
    ),
    Kind('"Whether ..."', r'"""Say (whether|if|how|of|what|who|which)\b', 0),
    Kind(
        "Name the quantity and its unit",
        r'"""(How (many|much|long|far|often|large)|For how|For what|Of how|After (which|how)|In how'
        r")\b|^\s+\w+: (How (many|much|long|large|far|often)|For how long)\b",
        0,
    ),
    Kind("Use the verb for the effect", r'"""(Let|Have|Take|Note|Give|Keep|Begin)\b|; let \b', 16),
    Kind(
        "Repeat the noun, or name the parameter",
        r"\b[Tt]hose (that|who|which|of|with)\b|\bthe ones?\b|\b[Tt]hat of\b"
        r"|\b[Oo]ne (that|who|which|with)\b|\bthe other one\b"
        r"|\b(so|as) (many|much|long|few|often)\b|\b(is|are|was|be|has|have) none\b",
        102,
    ),
)


def places(kind: Kind, project: Path = PROJECT) -> Iterator[str]:
    """Yield the place of each line of a kind, as `file:line`."""
    line_pattern = re.compile(kind.pattern)
    for read in kind.read:
        root = project / read
        for path in sorted(root.rglob(kind.names)) if root.is_dir() else [root]:
            if path.is_file() and "__pycache__" not in path.parts:
                for number, line in enumerate(_lines(path), 1):
                    if line_pattern.search(line):
                        yield f"{path.relative_to(project)}:{number}"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:  # a picture, or bytes that a test sends
        return []


def fault(kind: Kind, count: int) -> str:
    """Return the complaint about `count` lines of a kind; "" if the maximum allows them."""
    return f"{kind.advice}: {count} lines, {kind.most} allowed." if count > kind.most else ""


if __name__ == "__main__":
    found = {kind: list(places(kind)) for kind in KINDS}
    if "--count" in sys.argv:
        lines = [f"{kind.advice}: {len(its)}" for kind, its in found.items()]
    elif "--list" in sys.argv:
        lines = [f"{place}: {kind.advice}" for kind, its in found.items() for place in its]
    else:
        lines = [complaint for kind, its in found.items() if (complaint := fault(kind, len(its)))]
        if lines:
            lines.append("`python -m handbook.vague_words --list` prints their places.")
    sys.exit("\n".join(lines) or 0)
