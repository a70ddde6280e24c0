"""Words that hide who acts are counted, and `make lint` fails for too many."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handbook import vague_words as check


def test_each_whole_word_counts_where_it_is_written(tmp_path: Path) -> None:
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("Plain.\n")
    word = check.WORDS[0]
    (tmp_path / "SECURITY.md").write_text(f"Plain.\n{word.upper()} or {word}\n")
    (tmp_path / "CHANGELOG.md").write_text(f"What was said of {word} stays.\n")
    deep = tmp_path / "src" / "feedkeep"
    deep.mkdir(parents=True)
    (deep / "a.py").write_text("".join(f"# {word}\n" for word in check.WORDS) + f"{word}s = 1\n")
    (deep / "b.png").write_bytes(f"\xff{word}".encode("latin-1"))
    assert list(check.vague_words(tmp_path)) == [
        *(f"src/feedkeep/a.py:{line}" for line in (1, 2, 3, 4)),
        "SECURITY.md:2",
        "SECURITY.md:2",
    ]


def test_as_many_as_there_were_are_allowed_and_one_more_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(check, "MOST", 2)
    assert not check.fault(["a:1", "b:2"])
    assert re.match("3 uses of .* at most 2 are allowed. Name who acts.", check.fault(["a:1"] * 3))
