"""Detect a missing database file, so that no empty one silently replaces it."""

from __future__ import annotations

import os
from pathlib import Path

from feedkeep.model.errors import StoreUnusable
from feedkeep.store.sqlite.file_identity import ENDINGS
from feedkeep.store.sqlite.lock import lock_of, says_made


def assert_not_gone(path: Path) -> None:
    """Check that a database file has content, or that nothing shows that it ever had.

    Raises:
        StoreUnusable: Files beside it show that there was a database.
    """
    # In this order: a process that creates a database now creates its file before the others.
    signs = _signs(path)
    if signs and is_missing(path):
        raise gone(path, signs)


def is_missing(path: Path) -> bool:
    """Whether there is no file, or an empty one."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def _signs(path: Path) -> list[Path]:
    real = path.resolve()  # SQLite puts its other files beside the file that a link points to
    beside = [Path(f"{real}{ending}") for ending in ENDINGS]
    lock = [lock_of(path)] if says_made(path) else []
    return lock + [file for file in beside if os.path.lexists(file)]


def gone(path: Path, signs: list[Path]) -> StoreUnusable:
    """Return the error for a missing database, with the remedy."""
    shown = " and ".join(map(str, signs))
    return StoreUnusable(
        f"The database {path} is missing or empty, but existed before: {shown} shows it. feedkeep"
        " does not replace it with an empty one. Put the file back, or restore a backup;"
        f' docs/backup.md says how under "Damage". To start with an empty database, delete {shown}.'
    )
