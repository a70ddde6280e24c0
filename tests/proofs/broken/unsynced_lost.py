"""A SQLite VFS under which a killed process loses what it has not synced, as if power had failed.

Writes stay in this process's memory until the file is synced. It is installed as the default VFS,
so that every other one is put on top of it. Without it, the system keeps what a killed process
wrote.
"""

from __future__ import annotations

import random
import threading
from collections import defaultdict

import apsw

REACHES_THE_DISK = 0.5
"""How much of what was not synced arrives all the same: in any order, and in part."""

SECTOR_BYTES = 512

_lock = threading.RLock()
_unsynced: dict[str, dict[int, bytes]] = defaultdict(dict)  # by file: what was written, by place


class _File(apsw.VFSFile):
    def __init__(self, filename: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("unix", filename, flags)
        name = filename.filename() if isinstance(filename, apsw.URIFilename) else filename
        self._unsynced = _unsynced[str(name)]

    def xWrite(self, data: bytes, offset: int) -> None:
        with _lock:
            pages = self._unsynced
            if len(pages.get(offset, data)) > len(data):  # a part of a piece that is there
                data += pages[offset][len(data) :]
            pages[offset] = bytes(data)
            if random.random() < REACHES_THE_DISK:
                arrived = data[: SECTOR_BYTES * random.randrange(1, 9)]
                super().xWrite(arrived, offset)

    def xRead(self, amount: int, offset: int) -> bytes:
        with _lock:
            found = bytearray(super().xRead(amount, offset))
            for place, data in self._unsynced.items():
                start, end = max(place, offset), min(place + len(data), offset + amount)
                if start < end:
                    found.extend(bytes(max(0, end - offset - len(found))))
                    found[start - offset : end - offset] = data[start - place : end - place]
            return bytes(found)

    def xFileSize(self) -> int:
        with _lock:
            ends = (place + len(data) for place, data in self._unsynced.items())
            return max(super().xFileSize(), *ends, 0)

    def xSync(self, flags: int) -> None:
        with _lock:
            self._write_out()
            super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        with _lock:
            self._write_out()
            super().xTruncate(newsize)

    def _write_out(self) -> None:
        for place, data in self._unsynced.items():
            super().xWrite(data, place)
        self._unsynced.clear()


class _UnsyncedLost(apsw.VFS):
    def __init__(self) -> None:
        super().__init__("unsynced-lost", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with _lock:
            _unsynced[filename].clear()
            super().xDelete(filename, syncdir)


_vfs = _UnsyncedLost()
