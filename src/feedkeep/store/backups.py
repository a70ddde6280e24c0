"""A folder of backups, each with the moment at which it was begun in its name."""

from __future__ import annotations

import re
from pathlib import Path

from feedkeep.model import Stamp
from feedkeep.model.errors import InvalidInput, StoreUnusable
from feedkeep.model.stamps import read_stamp, write_stamp

_NAME = re.compile(r"feedkeep-([0-9]{4}-[0-9]{2}-[0-9]{2}T)([0-9]{2})-([0-9]{2})-([0-9.]{9})Z\.db")
"""No colons: some file systems have no names with them."""


def backup_name(began: Stamp) -> str:
    """Return the name of a backup that began at a moment: feedkeep-2026-11-21T03-00-00.000000Z.db.

    The moment is in UTC.
    """
    return f"feedkeep-{write_stamp(began).replace(':', '-')}.db"


def backups_in(folder: Path) -> dict[Stamp, Path]:
    """Return the backups of a folder; files with other names are none, nor is what is no file."""
    found: dict[Stamp, Path] = {}
    for path in folder.iterdir():
        if (match := _NAME.fullmatch(path.name)) and path.is_file() and not path.is_symlink():
            try:
                found[read_stamp(f"{match[1]}{match[2]}:{match[3]}:{match[4]}Z")] = path
            except InvalidInput:
                continue  # no moment, so that no backup was made at it
    return found


def remove(backup: Path) -> None:
    """Remove a backup.

    Raises:
        StoreUnusable: It cannot be removed.
    """
    try:
        backup.unlink(missing_ok=True)  # if it comes back after a crash, it goes the next time
    except OSError as error:
        raise StoreUnusable(f"Cannot remove {backup}: {error.strerror}.") from error
