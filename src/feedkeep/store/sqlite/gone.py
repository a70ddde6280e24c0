"""Whether a database that was there is gone: no empty one may take its place by itself."""

from __future__ import annotations

import os
from pathlib import Path

from feedkeep.model.errors import StoreUnusable
from feedkeep.store.sqlite.file_identity import ENDINGS
from feedkeep.store.sqlite.lock import lock_of, says_made


def assert_not_gone(path: Path) -> None:
    """Return if there is a file with something in it, or nothing shows that there ever was one.

    Raises:
        StoreUnusable: What is beside it shows that there was a database.
    """
    # In this order: whoever makes a database at this moment makes its file before the others.
    signs = _signs(path)
    if signs and is_missing(path):
        raise gone(path, signs)


def is_missing(path: Path) -> bool:
    """Say whether there is no file, or an empty one."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def _signs(path: Path) -> list[Path]:
    real = path.resolve()  # SQLite puts its other files beside the file that a link leads to
    beside = [Path(f"{real}{ending}") for ending in ENDINGS]
    lock = [lock_of(path)] if says_made(path) else []
    return lock + [file for file in beside if os.path.lexists(file)]


def gone(path: Path, signs: list[Path]) -> StoreUnusable:
    """Return the error that says so, and what to do."""
    shown = " and ".join(map(str, signs))
    return StoreUnusable(
        f"The database {path} is missing or empty, but existed before: {shown} shows it. feedkeep"
        " does not replace it with an empty one. Put the file back, or restore a backup;"
        f' docs/backup.md says how under "Damage". To start with an empty database, delete {shown}.'
    )
