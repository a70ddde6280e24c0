"""Why a file cannot be used as a database, and what to do, as a sentence."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw

from feedkeep.model.errors import StoreUnusable


def unusable(path: Path, error: OSError | apsw.Error) -> StoreUnusable:
    """Return the refusal of a database whose files cannot be opened or made."""
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
