"""A folder of backups, each with its start time in its name."""

from __future__ import annotations

import re
from pathlib import Path

from feedkeep.model import Stamp
from feedkeep.model.errors import InvalidInput, StoreUnusable
from feedkeep.model.stamps import read_stamp, write_stamp

_NAME = re.compile(r"feedkeep-([0-9]{4}-[0-9]{2}-[0-9]{2}T)([0-9]{2})-([0-9]{2})-([0-9.]{9})Z\.db")
"""Pattern of names; without colons, which some file systems reject."""


def backup_name(began: Stamp) -> str:
    """Return a backup's name with its start (UTC): feedkeep-2026-11-21T03-00-00.000000Z.db."""
    return f"feedkeep-{write_stamp(began).replace(':', '-')}.db"


def backups_in(folder: Path) -> dict[Stamp, Path]:
    """Return a folder's backups by start time; other names, links and non-files are skipped."""
    found: dict[Stamp, Path] = {}
    for path in folder.iterdir():
        if (match := _NAME.fullmatch(path.name)) and path.is_file() and not path.is_symlink():
            try:
                found[read_stamp(f"{match[1]}{match[2]}:{match[3]}:{match[4]}Z")] = path
            except InvalidInput:
                continue  # not a valid time, so not a backup
    return found


def remove(backup: Path) -> None:
    """Remove a backup.

    Raises:
        StoreUnusable: It cannot be removed.
    """
    try:
        backup.unlink(missing_ok=True)  # if a crash restores it, the next rotation removes it
    except OSError as error:
        raise StoreUnusable(f"Cannot remove {backup}: {error.strerror}.") from error
