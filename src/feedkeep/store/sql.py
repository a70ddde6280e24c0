"""Statements that both databases execute, written once, as PostgreSQL takes them.

Parameters are `$1`, `$2` and so on, and tables are in the schema `feedkeep`. What SQLite has other
words for is a constant of this module. Each statement is rendered when its module is imported.
"""

from __future__ import annotations

from typing import NewType

Sql = NewType("Sql", str)
"""A statement that was rendered for both databases; its text is PostgreSQL's."""

AND_NOT_DELETED = "/* and not deleted */"
"""The condition that an account `a` is not deleted.

On PostgreSQL a deleted account has no row. On SQLite its row stays, without a name, until its other
rows are deleted.
"""

_IN_SQLITE = {
    "feedkeep.": "",
    "$": "?",
    AND_NOT_DELETED: "AND a.name <> ''",
}
_rendered: dict[str, str] = {}


def sql(text: str) -> Sql:
    """Render a statement for both databases; return it."""
    _rendered[text] = for_sqlite(text)
    return Sql(text)


def for_sqlite(text: str) -> str:
    """Render a statement for SQLite alone."""
    for words, own_words in _IN_SQLITE.items():
        text = text.replace(words, own_words)
    return text


def sqlite_form(statement: Sql) -> str:
    """Return a statement as SQLite takes it."""
    return _rendered[statement]
