"""Power cuts for files that were written through `broken/unsynced_lost.py`."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

RECORD = struct.Struct("qq")
"""Offset and length of a part of a file that is not synced yet."""

REACHES_THE_DISK = 0.5
"""Share of the unsynced parts that reach the disk all the same: in any order, and in part."""

SECTOR_BYTES = 512


def disk_of(path: Path) -> Path:
    """Return the file that holds what of another one is on the disk."""
    return path.parent / "disk" / path.name


def unsynced_of(path: Path) -> Path:
    """Return the file that says which of its parts are not."""
    return path.parent / "disk" / f"{path.name}.unsynced"


def cut_power(folder: Path, chance: random.Random) -> None:
    """Leave of each file what is on the disk, once no process uses it any more."""
    for file in [file for file in folder.glob("feedkeep.db*") if disk_of(file).exists()]:
        arrived = bytearray(disk_of(file).read_bytes())
        if unsynced_of(file).exists():
            seen = file.read_bytes()
            for offset, length in RECORD.iter_unpack(unsynced_of(file).read_bytes()):
                if chance.random() < REACHES_THE_DISK:
                    arriving_bytes = min(length, SECTOR_BYTES * chance.randrange(1, 9))
                    part = seen[offset : offset + arriving_bytes]
                    arrived.extend(bytes(max(0, offset - len(arrived))))
                    arrived[offset : offset + len(part)] = part
        file.write_bytes(arrived)
    shutil.rmtree(folder / "disk")
