"""Documents name modules as they are called now."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
TO_BE_WRITTEN = {"tests/contract/test_note.py"}
"""What CONTRIBUTING.md has a newcomer write."""

NAMED = re.compile(r"`([\w/.-]+\.py)`")
OF_THE_TREE = (
    "*.md",
    "docs/**/*.md",
    "src/**/*.md",
    "tests/**/*.md",
    "bench/*.md",
    "deploy/**/*.md",
)


def test_each_module_that_a_document_names_is_there():
    modules = {f"/{path.relative_to(PROJECT)}" for path in PROJECT.glob("*/**/*.py")}
    documents = [path for pattern in OF_THE_TREE for path in PROJECT.glob(pattern)]
    named = {(path.name, name) for path in documents for name in NAMED.findall(path.read_text())}
    assert len(named) > 20
    missing = {
        (document, name)
        for document, name in named
        if name not in TO_BE_WRITTEN and not any(one.endswith(f"/{name}") for one in modules)
    }
    assert missing == set()
