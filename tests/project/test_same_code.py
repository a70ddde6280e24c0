"""A change of prose is told from a change of code."""

import subprocess

import pytest

from handbook.same_code import changed, code

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
        ("Module.", "Other.\n\nText."),
        ('"""Constant."""', ""),
        ('"""Class."""', "pass"),
        ('"""Function."""', ""),
        ("# comment", "# other"),
    ],
)
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
