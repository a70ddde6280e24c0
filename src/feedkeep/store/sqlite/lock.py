"""The lock of a database: whatever uses the database shares it, and `restore` takes it alone.

It is a file of its own, with a name that no pattern for the database's files matches: those can be
moved away while the service runs, and then the lock is needed. The empty file stays, since to
delete a lock that others are about to take is a race. It is locked by `flock`: SQLite's own locks
are fcntl's, and all of these are dropped when a process closes any descriptor of the file.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from feedkeep.errors import StoreUnusable


def use(path: Path) -> int:
    """Hold the lock of a database with others, until the descriptor that is returned is closed.

    Raises:
        StoreUnusable: The database is being restored, or its folder cannot be used.
    """
    return _locked(path, fcntl.LOCK_SH, f"{path} is being restored; try again when that is done.")


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock of a database alone.

    Raises:
        StoreUnusable: The database is in use, or its folder cannot be used.
    """
    refusal = f"{path} is in use: stop the service, and all commands that use it, first."
    descriptor = _locked(path, fcntl.LOCK_EX, refusal)
    try:
        yield
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make the folder of a database, for its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def _locked(path: Path, kind: int, refusal: str) -> int:
    try:
        make_folder(path)
        lock = path.parent.resolve() / f".{path.name}.lock"
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreUnusable(f"Cannot use {path} as the database: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        is_taken = isinstance(error, BlockingIOError)
        raise StoreUnusable(refusal if is_taken else f"Cannot lock {lock}: {error}.") from error
    return descriptor
