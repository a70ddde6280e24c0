"""The numbered SQL files of a store's schema, in order. Knows no database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of a schema: its number, counted from 1, its file's name and its statements."""

    number: int
    name: str
    sql: str

    @property
    def compatible_from(self) -> int:
        """The oldest version of the schema whose programs go on working after this step.

        The comment at its head says it; a step that says nothing is compatible with none before.
        """
        told = re.search(r"^-- Compatible from version (\d+): ", self.sql, re.MULTILINE)
        return int(told[1]) if told else self.number

    @property
    def statements(self) -> list[str]:
        """The statements one by one, without comments. No text in them holds `;` or `--`."""
        parts = re.sub(r"--[^\n]*", "", self.sql).split(";")
        return [part.strip() for part in parts if part.strip()]


def migrations(kind: str) -> list[Migration]:
    """Return the steps of the schema `kind`, a folder of `schema`, from the first to the newest."""
    folder = resources.files("feedkeep.store").joinpath("schema", kind)
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    steps = [
        Migration(int(name[:4]), name, folder.joinpath(name).read_text("utf-8")) for name in names
    ]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1)), names
    return steps
