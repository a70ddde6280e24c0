"""The lock of a database: programs that use it share the lock; restores and migrations do not.

It is a separate file, with a name that no pattern for the database's files matches: these can be
moved away while the service runs, and then the lock is needed. The file stays, since deleting a
lock that others are about to acquire is a race. It is locked by `flock`: SQLite's own locks are
fcntl's, all of which a process loses when it closes any descriptor of the file.

The lock file is empty until a database was completely created, and then says so: a process that
finds no database beside it can tell that there was one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from feedkeep.model.errors import StoreUnusable
from feedkeep.store.sqlite.errors import unusable

PATIENCE_SECONDS = 5.0
"""Maximum wait of a migration for other users of the database."""

_RETRY_SECONDS = 0.05

_MADE = (
    b"A database of feedkeep was made beside this file. Without it, no empty one takes its place.\n"
)


def lock_of(path: Path) -> Path:
    """Return the lock file of a database."""
    return path.parent.resolve() / f".{path.name}.lock"


def open_turn(path: Path, name: str) -> int:
    """Open another lock of a database, for `turns`, without acquiring it.

    Raises:
        StoreUnusable: Its folder cannot be used.
    """
    lock = lock_of(path)
    descriptor = _opened(path, lock.with_name(f"{lock.stem}.{name}{lock.suffix}"))
    with suppress(OSError):  # a command of root must not create files that the service cannot open
        owner = path.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def use(path: Path) -> int:
    """Share the lock of a database, until the returned descriptor is closed.

    Raises:
        StoreUnusable: The database is being restored or migrated, or its folder cannot be used.
    """
    return _locked(path, fcntl.LOCK_SH, _taken(path))


@contextmanager
def used_alone(path: Path, descriptor: int) -> Iterator[None]:
    """Context manager: make a lock that `use` has returned exclusive.

    Waits a few seconds for commands that use the database.

    Raises:
        StoreUnusable: The database is in use; the lock is no longer held.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _locks(descriptor, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            raise StoreUnusable(_in_use(path))
        time.sleep(_RETRY_SECONDS)
    yield
    if not _locks(descriptor, fcntl.LOCK_SH):
        raise StoreUnusable(_taken(path))


def assert_unused(path: Path) -> None:
    """Check that no program uses a database at this moment.

    Raises:
        StoreUnusable: It is in use, or its folder cannot be used.
    """
    with alone(path):
        pass


@contextmanager
def alone(path: Path) -> Iterator[int]:
    """Context manager: hold the lock of a database exclusively; its value is the descriptor.

    Raises:
        StoreUnusable: The database is in use, or its folder cannot be used.
    """
    descriptor = _locked(path, fcntl.LOCK_EX, _in_use(path))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def note_made(descriptor: int) -> None:
    """Record in a lock that its database was completely created; errors are ignored."""
    with suppress(OSError):
        if os.fstat(descriptor).st_size == 0:
            os.pwrite(descriptor, _MADE, 0)


def says_made(path: Path) -> bool:
    """Whether the lock of a database records that it was completely created."""
    with suppress(OSError):
        return lock_of(path).stat().st_size > 0
    return False


def make_folder(path: Path) -> None:
    """Create the folder of a database, for its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def _locked(path: Path, kind: int, refusal: str) -> int:
    lock = lock_of(path)
    descriptor = _opened(path, lock)
    try:
        is_locked = _locks(descriptor, kind)
    except OSError as error:
        os.close(descriptor)
        raise StoreUnusable(f"Cannot lock {lock}: {error}.") from error
    if not is_locked:
        os.close(descriptor)
        raise StoreUnusable(refusal)
    return descriptor


def _locks(descriptor: int, kind: int) -> bool:
    """Acquire a lock without waiting; return whether that succeeded."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _in_use(path: Path) -> str:
    return f"{path} is in use: stop the service, and all commands that use it, first."


def _taken(path: Path) -> str:
    return f"{path} is being restored or migrated; try again when that is done."


def _opened(path: Path, lock: Path) -> int:
    try:
        make_folder(path)
        return os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        if error.errno != errno.EROFS or not lock.exists():
            raise unusable(path, error) from error
    return os.open(lock, os.O_RDONLY)  # sufficient to hold it
