"""Words that hide who acts; the tree may not get more of them.

A sentence names its actor: a client, an app, an account, its owner, the operator, an attacker.
`python -m handbook.vague_words` exits with 1 if the tree has more than `MOST` of these words; with
`--list`, it says where they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parent.parent

MOST = 78
"""How many the tree may have: lowered by the commit that rewrites some, and never raised."""

WORDS = ("nobody", "somebody", "whoever", "everybody")

_READ = (
    "src", "docs", "tests", "handbook", "bench", "deploy",
    "README.md", "CONTRIBUTING.md", "SECURITY.md",
)  # fmt: skip
_VAGUE = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)


def vague_words(project: Path = PROJECT) -> Iterator[str]:
    """Yield the place of each such word, as `file:line`."""
    for read in _READ:
        below = project / read
        for path in sorted(below.rglob("*")) if below.is_dir() else [below]:
            if path.is_file() and "__pycache__" not in path.parts:
                for number, line in enumerate(_lines(path), 1):
                    for _ in _VAGUE.findall(line):
                        yield f"{path.relative_to(project)}:{number}"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:  # a picture, or bytes that a test sends
        return []


def fault(places: list[str]) -> str:
    """Return what is wrong with that many of these words; "" if there are not too many."""
    if len(places) <= MOST:
        return ""
    return (
        f"{len(places)} uses of {', '.join(WORDS)}; at most {MOST} are allowed. Name who acts."
        " `python -m handbook.vague_words --list` shows where they are."
    )


if __name__ == "__main__":
    found = list(vague_words())
    sys.exit("\n".join(found) if "--list" in sys.argv else fault(found) or 0)
