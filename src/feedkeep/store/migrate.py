"""Numbered schema migrations, independent of the database."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import TypeAlias

import structlog

from feedkeep.model.errors import StoreUnusable

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Migration:
    """A schema migration: number, which becomes the schema's version, file name and SQL.

    The first migration creates all tables.
    """

    number: int
    name: str
    sql: str

    @property
    def compatible_from(self) -> int:
        """Oldest schema version whose programs still work after this migration.

        The comment at its head names it; without that, no older program works.
        """
        told = re.search(r"^-- Compatible from version (\d+): ", self.sql, re.MULTILINE)
        return int(told[1]) if told else self.number

    @property
    def summary(self) -> str:
        head = " ".join(re.findall(r"^-- (.*)$", self.sql.partition("\n\n")[0], re.MULTILINE))
        return head.partition(". ")[0].removesuffix(".") + "."

    @property
    def statements(self) -> list[str]:
        """The statements without comments. No text in them may contain `;` or `--`."""
        parts = re.sub(r"--[^\n]*", "", self.sql).split(";")
        return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True, slots=True)
class PendingMigrations:
    """Migrations that a database lacks.

    Attributes:
        found: Version of its schema; 0 if it has no tables.
    """

    found: int
    steps: Sequence[Migration]

    @property
    def older_programs_work(self) -> bool:
        return all(step.compatible_from <= self.found for step in self.steps)


BeforeMigrating: TypeAlias = Callable[[PendingMigrations], Awaitable[None]]
"""Awaited before an existing database is migrated; its error leaves the database as it is."""


async def migrate_at_once(_: PendingMigrations) -> None:
    """Permit a migration: a `BeforeMigrating` that does nothing."""


@contextmanager
def logged(step: Migration) -> Iterator[None]:
    """Context manager: log the start and the end of a migration of an existing database."""
    _log.info("schema step began", step=step.name)
    began = time.monotonic()
    yield
    seconds = round(time.monotonic() - began, 1)
    _log.info("schema step ended", step=step.name, duration_seconds=seconds)


def migrations(kind: str) -> list[Migration]:
    """Return the migrations of a kind of store, a subfolder of `schema`, in their order."""
    folder = resources.files("feedkeep.store").joinpath("schema", kind)
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    steps = [
        Migration(int(name[:4]), name, folder.joinpath(name).read_text("utf-8")) for name in names
    ]
    first = steps[0].number
    assert [step.number for step in steps] == list(range(first, first + len(steps))), names
    return steps


def pending_migrations(kind: str, found: int) -> PendingMigrations:
    """Return the migrations after a schema version; none after a newer version."""
    return PendingMigrations(found, [step for step in migrations(kind) if step.number > found])


def newest_version(kind: str) -> int:
    return migrations(kind)[-1].number


def check_version(kind: str, found: int, database: str, compatible_from: int | None = None) -> None:
    """Check that this program can work with a schema version once pending migrations have run.

    Args:
        kind: The kind of store.
        found: Version of the schema; 0 if there are no tables.
        database: Name of the database at the beginning of a sentence.
        compatible_from: Oldest version whose programs still work; None means only `found`.

    Raises:
        StoreUnusable: A build before 1.0 or an incompatible newer feedkeep wrote it.
    """
    steps = migrations(kind)
    oldest, newest = steps[0].number, steps[-1].number
    if 0 < found < oldest:
        raise StoreUnusable(
            f"{database} was made by a build before 1.0 (schema version {found}), which this"
            " feedkeep cannot read. With that build, export each account's list (`feedkeep export"
            " NAME --output NAME.opml`); then use a new database, and import the lists there."
            " Positions, tokens, passwords and history cannot be taken along."
        )
    if found > newest and (compatible_from or found) > newest:
        raise StoreUnusable(
            f"{database} has schema version {found}; this feedkeep knows versions up to {newest}."
            " Install the newer feedkeep that wrote it, or restore a backup from before the"
            " upgrade."
        )
