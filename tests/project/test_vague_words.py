"""Words and sentences to rewrite are counted, and `make lint` fails for too many."""

import pytest

from handbook import vague_words as check

WORDS, RETURN, WHETHER, QUANTITY, VERB, NOUN = check.KINDS


def test_each_line_with_a_vague_word_counts_once(tmp_path):
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


def test_the_maximum_is_allowed_and_one_more_is_not():
    kind = check.Kind("Name who acts", "", most=2)
    assert not check.fault(kind, 2)
    assert check.fault(kind, 3) == "Name who acts: 3 lines, 2 allowed."
