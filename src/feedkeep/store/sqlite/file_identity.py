"""Detection of database files that are missing, or were deleted or replaced while in use."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from feedkeep.model.errors import StoreUnavailable, StoreUnusable
from feedkeep.store.sqlite.lock import lock_of, says_made

LOOKED_AT_EACH_SECONDS = 1.0
"""Interval between checks by reads; a write is checked before it is acknowledged."""

ENDINGS = ("-wal", "-shm")
"""Suffixes of the write-ahead log and its index; another process would create new ones."""

_Identity: TypeAlias = tuple[int, int] | None


class FileIdentity:
    """The names of a database's files, and the files that had these names when it was opened.

    Data written to a file without a name is lost when the process ends. Once the same files have
    their names again, the database can be used again.

    Args:
        path: The database, whose files must all be open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        real = path.resolve()  # SQLite puts the other two beside the file that a link points to
        self._names = [str(path), *(f"{real}{ending}" for ending in ENDINGS)]
        self._files = [_identity(name) for name in self._names]
        self._is_lost = False
        self._next_look = 0.0

    def assert_in_place(self) -> None:
        """Check that every name is still that of the open file.

        Raises:
            StoreUnavailable: A file was deleted, renamed or replaced.
        """
        self._is_lost = [_identity(name) for name in self._names] != self._files
        self._next_look = time.monotonic() + LOOKED_AT_EACH_SECONDS
        self._refuse_if_lost()

    def assert_in_place_lately(self) -> None:
        """As `assert_in_place`, with a result that may be `LOOKED_AT_EACH_SECONDS` old."""
        if time.monotonic() >= self._next_look:
            self.assert_in_place()
        self._refuse_if_lost()

    def _refuse_if_lost(self) -> None:
        if self._is_lost:
            raise StoreUnavailable(
                f"The database {self._path}, or the -wal or -shm file beside it, was deleted,"
                " renamed or replaced while it is in use. Put the same files back. Or, to use"
                " another file, stop the service, put that file there, and start it again."
            )


def _identity(name: str) -> _Identity:
    with suppress(OSError):
        found = os.stat(name)  # noqa: PTH116 - at each commit, a Path takes twice as long
        return found.st_dev, found.st_ino
    return None


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
