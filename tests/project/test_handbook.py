"""Words to rewrite are counted, and a change of prose is told from a change of code."""

import subprocess

import pytest

from handbook import vague_words as check
from handbook.same_code import changed, code

WORDS, RETURN, WHETHER, QUANTITY, VERB, NOUN = check.KINDS


def test_each_line_with_a_vague_word_counts_once_up_to_a_maximum(tmp_path):
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("Plain.\n")
    word = check.WORDS[0]
    (tmp_path / "SECURITY.md").write_text(f"Plain.\n{word.upper()} or {word}\n")
    (tmp_path / "CHANGELOG.md").write_text(f"What was said of {word} stays.\n")
    deep = tmp_path / "src" / "feedkeep"
    deep.mkdir(parents=True)
    (deep / "a.py").write_text("".join(f"# {word}\n" for word in check.WORDS) + f"{word}s = 1\n")
    (deep / "b.png").write_bytes(f"\xff{word}".encode("latin-1"))
    assert list(check.places(WORDS, tmp_path)) == [
        *(f"src/feedkeep/a.py:{line}" for line in (1, 2, 3, 4)),
        "SECURITY.md:2",
    ]
    kind = check.Kind("Name who acts", "", most=2)
    assert not check.fault(kind, 2)
    assert check.fault(kind, 3) == "Name who acts: 3 lines, 2 allowed."


@pytest.mark.parametrize(
    ("kind", "bad", "good"),
    [
        (RETURN, '"""Return what is stored."""', '"""Return the stored feed."""'),
        (WHETHER, '"""Say whether it is full."""', '"""Whether it is full."""'),
        (QUANTITY, '"""How many rows are read."""', '"""Maximum number of rows."""'),
        (QUANTITY, "    rows: How many are read.", "    rows: Number of rows."),
        (VERB, '"""Let a session end."""', '"""End a session."""'),
        (NOUN, "# those that are old", "# the old feeds"),
        (NOUN, "# it is none", "# not a feed"),
        (NOUN, "# so many rows", "# `count` rows"),
    ],
)
def test_sentences_count_in_python_files(tmp_path, kind, bad, good):
    root = tmp_path / "src" / "feedkeep"
    root.mkdir(parents=True)
    (root / "a.py").write_text(f"{good}\n{bad}\n")
    (root / "a.html").write_text(f"{bad}\n")
    assert list(check.places(kind, tmp_path)) == ["src/feedkeep/a.py:2"]


MODULE = '''"""Module."""

LIMIT = 5
"""Constant."""


class Gone(Exception):
    """Class."""


async def read(path: str) -> str:
    """Function."""
    return "text"  # comment
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Module.", "Other.\n\nText."), ('"""Constant."""', ""), ('"""Class."""', "pass"),
        ('"""Function."""', ""), ("# comment", "# other"),
    ],
)  # fmt: skip
def test_docstrings_and_comments_are_no_code(old, new):
    assert code(MODULE.replace(old, new)) == code(MODULE)


@pytest.mark.parametrize(
    ("old", "new"),
    [("LIMIT", "MOST"), ("5", "6"), ("(Exception)", ""), ("async ", ""), ('"text"', '"word"')],
)
def test_names_and_values_are_code(old, new):
    assert code(MODULE.replace(old, new)) != code(MODULE)


def test_changed_names_files_with_other_code(tmp_path):
    def git(*arguments):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(("git", *identity, *arguments), cwd=tmp_path, check=True)

    git("init", "-q")
    for name in ("code.py", "deleted.py", "prose.py"):
        (tmp_path / name).write_text(MODULE)
    git("add", ".")
    git("commit", "-qm", "before")
    (tmp_path / "code.py").write_text(MODULE.replace("5", "6"))
    (tmp_path / "deleted.py").unlink()
    (tmp_path / "prose.py").write_text(MODULE.replace("Module", "Other"))
    (tmp_path / "added.py").write_text(MODULE)
    git("add", "-N", ".")
    assert list(changed("HEAD", None, tmp_path)) == ["added.py", "code.py", "deleted.py"]
    git("commit", "-qam", "after")
    assert list(changed("HEAD~", "HEAD", tmp_path)) == ["added.py", "code.py", "deleted.py"]
    assert not list(changed("HEAD", None, tmp_path))
