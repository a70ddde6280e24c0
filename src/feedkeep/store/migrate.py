"""The numbered SQL files of a store's schema, in order. Knows no database."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    def summary(self) -> str:
        """What it is about: the first sentence of the comment at its head."""
        head = " ".join(re.findall(r"^-- (.*)$", self.sql.partition("\n\n")[0], re.MULTILINE))
        return head.partition(". ")[0].removesuffix(".") + "."

    @property
    def statements(self) -> list[str]:
        """The statements one by one, without comments. No text in them holds `;` or `--`."""
        parts = re.sub(r"--[^\n]*", "", self.sql).split(";")
        return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True, slots=True)
class MissingSteps:
    """What brings a database up to date.

    Attributes:
        found: The version of the schema that it has; 0 if it has none.
        steps: The steps that it has not been through, in their order.
    """

    found: int
    steps: Sequence[Migration]

    @property
    def lets_older_go_on(self) -> bool:
        """Whether programs of the version that was found go on working beneath these steps."""
        return all(step.compatible_from <= self.found for step in self.steps)


def missing_steps(kind: str, found: int) -> MissingSteps:
    """Return the steps after a version of the schema `kind`; none for a newer one."""
    return MissingSteps(found, migrations(kind)[found:])


def migrations(kind: str) -> list[Migration]:
    """Return the steps of the schema `kind`, a folder of `schema`, from the first to the newest."""
    folder = resources.files("feedkeep.store").joinpath("schema", kind)
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    steps = [
        Migration(int(name[:4]), name, folder.joinpath(name).read_text("utf-8")) for name in names
    ]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1)), names
    return steps
