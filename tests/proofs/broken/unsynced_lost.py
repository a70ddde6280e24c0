"""A SQLite VFS that keeps beside each file what of it is on the disk, for a power cut.

Processes see each other's writes at once, as through a system's cache. What a sync has brought to
the disk is in a copy of the file, and `power_cut.py` puts that in the file's place.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
from power_cut import RECORD, disk_of, unsynced_of

_lock = threading.RLock()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep out other threads, and other processes that write or sync files of the same folder."""
    with _lock:
        descriptor = os.open(disk_of(path).with_name("lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class _File(apsw.VFSFile):
    def __init__(self, filename: str | apsw.URIFilename, flags: list[int]) -> None:
        name = filename.filename() if isinstance(filename, apsw.URIFilename) else filename
        self._path = Path(name)
        disk_of(self._path).parent.mkdir(exist_ok=True)
        with _alone(self._path):
            super().__init__("unix", filename, flags)
            if not disk_of(self._path).exists():
                shutil.copyfile(self._path, disk_of(self._path))

    def xWrite(self, data: bytes, offset: int) -> None:
        with _alone(self._path):
            super().xWrite(data, offset)
            with unsynced_of(self._path).open("ab") as records:
                records.write(RECORD.pack(offset, len(data)))

    def xSync(self, flags: int) -> None:
        with _alone(self._path):
            self._bring_to_the_disk()
            super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        with _alone(self._path):
            super().xTruncate(newsize)
            self._bring_to_the_disk()
            os.truncate(disk_of(self._path), newsize)

    def _bring_to_the_disk(self) -> None:
        """Copy what any process has written since the last sync of the file."""
        unsynced = unsynced_of(self._path)
        if not unsynced.exists():
            return
        with self._path.open("rb", buffering=0) as seen, disk_of(self._path).open("r+b") as disk:
            for offset, length in RECORD.iter_unpack(unsynced.read_bytes()):
                seen.seek(offset)
                disk.seek(offset)
                disk.write(seen.read(length))
        unsynced.unlink()


class _UnsyncedLost(apsw.VFS):
    def __init__(self) -> None:
        super().__init__("unsynced-lost", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        if name is None:  # a temporary file, which nothing outlives
            return apsw.VFSFile("unix", None, flags)
        return _File(name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        path = Path(filename)
        with _alone(path):
            super().xDelete(filename, syncdir)
            disk_of(path).unlink(missing_ok=True)
            unsynced_of(path).unlink(missing_ok=True)


_vfs = _UnsyncedLost()
