"""Translation of SQLite's errors: a full disk, damage, a file that cannot be opened."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw

from feedkeep.model.errors import StoreDamaged, StoreReadOnly, StoreUnavailable, StoreUnusable

# Errors that pass, or that an administrator can repair. Any other error is a defect in feedkeep.
UNAVAILABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.ConnectionClosedError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.IOError,
    apsw.InterruptError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.NotADBError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)


class Translating:
    """Context manager: turns SQLite's errors into `StoreUnavailable`, except defects of feedkeep.

    It is entered for each statement; a class costs less than a generator.

    Attributes:
        damage: The last error that reported damage.
    """

    damage: StoreDamaged | None = None

    def __enter__(self) -> None:
        """Begin; there is nothing to do."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        translated = as_store_error(error) if isinstance(error, UNAVAILABLE) else error
        if isinstance(translated, StoreDamaged):
            self.damage = translated
        if translated is not error:
            raise translated from error


def as_store_error(error: apsw.Error) -> StoreUnavailable:
    """Translate an error of `UNAVAILABLE`."""
    if is_damage(error):
        return StoreDamaged(
            "The SQLite database is damaged, or another program wrote to it; docs/backup.md"
            ' says what to do under "Damage".'
        )
    if isinstance(error, apsw.FullError | apsw.ReadOnlyError):
        return read_only()
    if isinstance(error, apsw.BusyError):
        return StoreUnavailable(
            "The SQLite database cannot be used now: another program keeps it locked."
            " `fuser` on the file says which one."
        )
    return StoreUnavailable(f"The SQLite database cannot be used now: {error}.")


def read_only() -> StoreReadOnly:
    """Return the error for a change while the disk accepts no writes."""
    return StoreReadOnly(
        "The SQLite database can be read, and not changed: its disk is full or read-only."
    )


def is_damage(error: apsw.Error) -> bool:
    """Whether an error means that the file is not as it was written."""
    is_checksum_wrong = getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA
    return is_checksum_wrong or isinstance(error, apsw.CorruptError | apsw.NotADBError)


def unusable(path: Path, error: OSError | apsw.Error) -> StoreUnusable:
    """Return the error for a database whose files cannot be opened or created."""
    reason = str(error)
    if isinstance(error, OSError):
        failed = error.filename
        other = f" ({failed})" if failed and Path(os.fsdecode(failed)) != path else ""
        reason = f"{error.strerror}{other}"
    return StoreUnusable(f"Cannot use {path} as the database: {reason}.{_advice(path, error)}")


def _advice(path: Path, error: OSError | apsw.Error) -> str:
    if _is_read_only(path.parent):
        return (
            " It is on a read-only file system, and SQLite writes files beside a database. Copy it,"
            " with its -wal if there is one, to a folder that can be written to."
        )
    if isinstance(error, PermissionError):
        return f" {path.parent} and all files in it have to belong to the user who runs this."
    return ""


def _is_read_only(folder: Path) -> bool:
    with suppress(OSError):
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    return False
